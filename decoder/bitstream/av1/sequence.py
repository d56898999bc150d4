"""Sequence header (AV1, 5.5)."""

from __future__ import annotations

from msgspec import Struct

from decoder.bitstream.bits import BitReader, out_of_range
from decoder.errors import InvalidSyntax

SELECT = 2
"""SELECT_SCREEN_CONTENT_TOOLS and SELECT_INTEGER_MV: each frame says."""

_CP_BT_709 = 1
_TC_SRGB = 13
_MC_IDENTITY = 0
_UNSPECIFIED = 2


class TimingInfo(Struct, frozen=True):
    """timing_info (5.5.3)."""

    num_units_in_display_tick: int
    time_scale: int
    equal_picture_interval: int
    num_ticks_per_picture_minus_1: int


class DecoderModelInfo(Struct, frozen=True):
    """decoder_model_info (5.5.4)."""

    buffer_delay_length_minus_1: int
    num_units_in_decoding_tick: int
    buffer_removal_time_length_minus_1: int
    frame_presentation_time_length_minus_1: int


class OperatingPoint(Struct, frozen=True):
    """What sequence_header_obu says of one operating point."""

    operating_point_idc: int
    seq_level_idx: int
    seq_tier: int
    decoder_model_present_for_this_op: int
    initial_display_delay_minus_1: int | None


OperatingParameters = tuple[int, int, int]
"""operating_parameters_info (5.5.5): decoder_buffer_delay, encoder_buffer_delay,
low_delay_mode_flag."""


class ColorConfig(Struct, frozen=True):
    """color_config (5.5.2)."""

    high_bitdepth: int
    twelve_bit: int
    mono_chrome: int
    color_description_present_flag: int
    color_primaries: int
    transfer_characteristics: int
    matrix_coefficients: int
    color_range: int
    subsampling_x: int
    subsampling_y: int
    chroma_sample_position: int
    separate_uv_delta_q: int


class SequenceHeader(Struct, frozen=True):
    """sequence_header_obu (5.5.1); elements that are absent hold what it infers.

    ``order_hint_bits`` is OrderHintBits, 0 without order hints.
    """

    seq_profile: int
    still_picture: int
    reduced_still_picture_header: int
    timing_info: TimingInfo | None
    decoder_model_info: DecoderModelInfo | None
    operating_points: tuple[OperatingPoint, ...]
    frame_width_bits_minus_1: int
    frame_height_bits_minus_1: int
    max_frame_width_minus_1: int
    max_frame_height_minus_1: int
    frame_id_numbers_present_flag: int
    delta_frame_id_length_minus_2: int
    additional_frame_id_length_minus_1: int
    use_128x128_superblock: int
    enable_filter_intra: int
    enable_intra_edge_filter: int
    enable_interintra_compound: int
    enable_masked_compound: int
    enable_warped_motion: int
    enable_dual_filter: int
    enable_order_hint: int
    enable_jnt_comp: int
    enable_ref_frame_mvs: int
    seq_force_screen_content_tools: int
    seq_force_integer_mv: int
    order_hint_bits: int
    enable_superres: int
    enable_cdef: int
    enable_restoration: int
    color_config: ColorConfig
    film_grain_params_present: int

    @property
    def delta_frame_id_length(self) -> int:
        """Bits of delta_frame_id_minus_1."""
        return self.delta_frame_id_length_minus_2 + 2

    @property
    def frame_id_length(self) -> int:
        """idLen (5.9.2)."""
        return self.additional_frame_id_length_minus_1 + self.delta_frame_id_length_minus_2 + 3

    @property
    def frame_presentation_time_length(self) -> int:
        """Bits of frame_presentation_time; 0 where temporal_point_info is absent (5.9.31)."""
        if self.decoder_model_info is None or self.timing_info is None:
            return 0
        if self.timing_info.equal_picture_interval:
            return 0
        return self.decoder_model_info.frame_presentation_time_length_minus_1 + 1

    @property
    def operating_point_idc(self) -> int:
        """OperatingPointIdc of the operating point that is decoded by default, the first."""
        return self.operating_points[0].operating_point_idc

    @property
    def max_spatial_id(self) -> int:
        """The highest spatial layer of that operating point; 0 without spatial layers."""
        return max((self.operating_point_idc >> 8).bit_length() - 1, 0)

    @classmethod
    def parse(cls, payload: bytes) -> tuple[SequenceHeader, tuple[OperatingParameters | None, ...]]:
        """Reads the payload of an OBU of type 1: the header and its operating parameters.

        These are apart since they may change within a coded video sequence (7.5).
        InvalidSyntax names the element that is truncated or out of range.
        """
        return cls.read(BitReader(payload))

    @classmethod
    def read(cls, r: BitReader) -> tuple[SequenceHeader, tuple[OperatingParameters | None, ...]]:
        """See `parse`."""
        u, flag = r.u, r.flag
        seq_profile = u(3, "seq_profile")
        if seq_profile > 2:
            raise out_of_range("seq_profile", seq_profile, 0, 2)
        still_picture = flag("still_picture")
        reduced = flag("reduced_still_picture_header")
        if reduced and not still_picture:
            raise out_of_range("reduced_still_picture_header", 1, 0, 0)
        timing_info = decoder_model_info = None
        parameters: list[OperatingParameters | None] = []
        if reduced:
            points = [OperatingPoint(0, u(5, "seq_level_idx"), 0, 0, None)]
            parameters.append(None)
        else:
            if flag("timing_info_present_flag"):
                timing_info = _read_timing_info(r)
                if flag("decoder_model_info_present_flag"):
                    decoder_model_info = DecoderModelInfo(
                        u(5, "buffer_delay_length_minus_1"),
                        u(32, "num_units_in_decoding_tick"),
                        u(5, "buffer_removal_time_length_minus_1"),
                        u(5, "frame_presentation_time_length_minus_1"),
                    )
            delay_present = flag("initial_display_delay_present_flag")
            points = []
            for _ in range(u(5, "operating_points_cnt_minus_1") + 1):
                point, parameter = _read_operating_point(r, decoder_model_info, delay_present)
                points.append(point)
                parameters.append(parameter)
        frame_width_bits_minus_1 = u(4, "frame_width_bits_minus_1")
        frame_height_bits_minus_1 = u(4, "frame_height_bits_minus_1")
        max_frame_width_minus_1 = u(frame_width_bits_minus_1 + 1, "max_frame_width_minus_1")
        max_frame_height_minus_1 = u(frame_height_bits_minus_1 + 1, "max_frame_height_minus_1")
        frame_ids = 0 if reduced else flag("frame_id_numbers_present_flag")
        delta_frame_id_length_minus_2 = additional_frame_id_length_minus_1 = 0
        if frame_ids:
            delta_frame_id_length_minus_2 = u(4, "delta_frame_id_length_minus_2")
            additional_frame_id_length_minus_1 = u(3, "additional_frame_id_length_minus_1")
            length = additional_frame_id_length_minus_1 + delta_frame_id_length_minus_2 + 3
            if length > 16:
                raise InvalidSyntax(
                    f"additional_frame_id_length_minus_1: frame ids of {length} bits, 16 at most"
                )
        use_128x128_superblock = flag("use_128x128_superblock")
        enable_filter_intra = flag("enable_filter_intra")
        enable_intra_edge_filter = flag("enable_intra_edge_filter")
        interintra = masked = warped = dual = order_hint = jnt_comp = ref_frame_mvs = 0
        force_screen_content_tools = force_integer_mv = SELECT
        order_hint_bits = 0
        if not reduced:
            interintra = flag("enable_interintra_compound")
            masked = flag("enable_masked_compound")
            warped = flag("enable_warped_motion")
            dual = flag("enable_dual_filter")
            order_hint = flag("enable_order_hint")
            if order_hint:
                jnt_comp = flag("enable_jnt_comp")
                ref_frame_mvs = flag("enable_ref_frame_mvs")
            if not flag("seq_choose_screen_content_tools"):
                force_screen_content_tools = flag("seq_force_screen_content_tools")
            if force_screen_content_tools and not flag("seq_choose_integer_mv"):
                force_integer_mv = flag("seq_force_integer_mv")
            if order_hint:
                order_hint_bits = u(3, "order_hint_bits_minus_1") + 1
        enable_superres = flag("enable_superres")
        enable_cdef = flag("enable_cdef")
        enable_restoration = flag("enable_restoration")
        color_config = _read_color_config(r, seq_profile)
        film_grain_params_present = flag("film_grain_params_present")
        flag("trailing_one_bit")
        header = cls(
            seq_profile,
            still_picture,
            reduced,
            timing_info,
            decoder_model_info,
            tuple(points),
            frame_width_bits_minus_1,
            frame_height_bits_minus_1,
            max_frame_width_minus_1,
            max_frame_height_minus_1,
            frame_ids,
            delta_frame_id_length_minus_2,
            additional_frame_id_length_minus_1,
            use_128x128_superblock,
            enable_filter_intra,
            enable_intra_edge_filter,
            interintra,
            masked,
            warped,
            dual,
            order_hint,
            jnt_comp,
            ref_frame_mvs,
            force_screen_content_tools,
            force_integer_mv,
            order_hint_bits,
            enable_superres,
            enable_cdef,
            enable_restoration,
            color_config,
            film_grain_params_present,
        )
        return header, tuple(parameters)


def _read_timing_info(r: BitReader) -> TimingInfo:
    num_units_in_display_tick = r.u(32, "num_units_in_display_tick")
    time_scale = r.u(32, "time_scale")
    equal_picture_interval = r.flag("equal_picture_interval")
    ticks = 0
    if equal_picture_interval:  # uvlc() is ue(v) up to the value that decoders refuse
        ticks = r.ue("num_ticks_per_picture_minus_1")
    return TimingInfo(num_units_in_display_tick, time_scale, equal_picture_interval, ticks)


def _read_operating_point(
    r: BitReader, model: DecoderModelInfo | None, delay_present: int
) -> tuple[OperatingPoint, OperatingParameters | None]:
    idc = r.u(12, "operating_point_idc")
    if idc and not (idc & 0xFF and idc >> 8):
        raise InvalidSyntax(f"operating_point_idc: {idc:#x} has no temporal or no spatial layer")
    seq_level_idx = r.u(5, "seq_level_idx")
    seq_tier = r.flag("seq_tier") if seq_level_idx > 7 else 0
    parameters = None
    model_present = 0
    if model is not None:
        model_present = r.flag("decoder_model_present_for_this_op")
        if model_present:
            n = model.buffer_delay_length_minus_1 + 1
            parameters = (
                r.u(n, "decoder_buffer_delay"),
                r.u(n, "encoder_buffer_delay"),
                r.flag("low_delay_mode_flag"),
            )
    delay = None
    if delay_present and r.flag("initial_display_delay_present_for_this_op"):
        delay = r.u(4, "initial_display_delay_minus_1")
    return OperatingPoint(idc, seq_level_idx, seq_tier, model_present, delay), parameters


def _read_color_config(r: BitReader, seq_profile: int) -> ColorConfig:
    high_bitdepth = r.flag("high_bitdepth")
    twelve_bit = r.flag("twelve_bit") if seq_profile == 2 and high_bitdepth else 0
    mono_chrome = r.flag("mono_chrome") if seq_profile != 1 else 0
    described = r.flag("color_description_present_flag")
    primaries = transfer = matrix = _UNSPECIFIED
    if described:
        primaries = r.u(8, "color_primaries")
        transfer = r.u(8, "transfer_characteristics")
        matrix = r.u(8, "matrix_coefficients")
    subsampling_x = subsampling_y = 1
    position = separate_uv_delta_q = 0
    if mono_chrome:
        color_range = r.flag("color_range")
    else:
        if (primaries, transfer, matrix) == (_CP_BT_709, _TC_SRGB, _MC_IDENTITY):
            color_range = 1
            subsampling_x = subsampling_y = 0
            if seq_profile != 1 and not twelve_bit:
                raise InvalidSyntax(f"matrix_coefficients: RGB in profile {seq_profile}")
        else:
            color_range = r.flag("color_range")
            if seq_profile == 1:
                subsampling_x = subsampling_y = 0
            elif twelve_bit:
                subsampling_x = r.flag("subsampling_x")
                subsampling_y = r.flag("subsampling_y") if subsampling_x else 0
            elif seq_profile == 2:
                subsampling_y = 0
            if subsampling_x and subsampling_y:
                position = r.u(2, "chroma_sample_position")
        separate_uv_delta_q = r.flag("separate_uv_delta_q")
    return ColorConfig(
        high_bitdepth,
        twelve_bit,
        mono_chrome,
        described,
        primaries,
        transfer,
        matrix,
        color_range,
        subsampling_x,
        subsampling_y,
        position,
        separate_uv_delta_q,
    )
