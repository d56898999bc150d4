# Every target does its own set-up; see scripts/setup.sh.
.PHONY: run test test-loaders test-cluster lint protocol exactness stress setup test-setup clean bench bench-mount bench-encodings
.DEFAULT_GOAL := test
python := .venv/bin/python
BENCH_CLIPS ?= $(if $(FRAMEFS_CORPUS),$(FRAMEFS_CORPUS)/robot/native264_*,sample/*.mp4)

# Mounts VIDEOS at MOUNT, by default the bundled sample under a fresh directory, until Ctrl-C.
run: setup
	@$(python) -m cli.sample $${VIDEOS:+--videos "$$VIDEOS"} $${MOUNT:+--mount "$$MOUNT"}

# Two at a time, which takes 10 minutes on two cores; the tests of a file one after the other.
test: test-setup lint
	$(python) -m pytest --numprocesses 2 --dist loadfile

# The loaders themselves, each on a mount and on an extracted folder; 10 GB of packages, once.
test-loaders: test-setup
	@scripts/setup-loaders.sh
	FRAMEFS_LEROBOT21=.venv-loaders/lerobot21 .venv-loaders/bin/python -m pytest tests/loaders

# Real Ray clusters of two nodes, one of which is killed; make test has them where Ray is installed.
test-cluster: test-setup
	@scripts/setup-cluster.sh
	.venv-cluster/bin/python -m pytest tests/engines/test_cluster.py tests/cli/test_cluster.py

lint: setup
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	$(python) -m mypy
	.venv/bin/lint-imports --no-logo

# Sparse decoding against full decoding, 10,000 requests for each codec; FRAMEFS_CORPUS adds its clips.
# PROTOCOL_OPTIONS='--codec hevc' etc.
protocol: setup
	$(python) -m tests.protocol $(PROTOCOL_OPTIONS)

# Compares every frame that a mount shows with a full decode, and what loaders read; FRAMEFS_CORPUS names the videos.
exactness: setup
	$(python) -m tests.exactness
	$(python) -m tests.loading

# Twenty readers for a minute while the videos under the mount are replaced, removed and added.
stress: setup
	$(python) -m tests.stress

# Compares framefs with other readers on BENCH_CLIPS, or on SET='native265 svtav1'; see docs/benchmark.md.
bench: setup
	@bench/setup.sh
	.venv-bench/bin/python -m bench \
		$(if $(SET),$(addprefix --set ,$(SET)),--clips '$(BENCH_CLIPS)') \
		$(if $(BENCH_JSON),--json '$(BENCH_JSON)') $(BENCH_OPTIONS)

# Reads the same frames from mounts and from folders of images; see docs/performance.md.
bench-mount: setup
	$(python) -m bench.mount --clips '$(BENCH_CLIPS)' \
		$(if $(BENCH_JSON),--json '$(BENCH_JSON)') $(BENCH_OPTIONS)

# Encodes the clips in all ways at equal PSNR and reads them in turn; see docs/transcode.md.
bench-encodings: setup
	@bench/setup.sh
	.venv-bench/bin/python -m bench.encodings --clips '$(BENCH_CLIPS)' \
		$(if $(BENCH_JSON),--json '$(BENCH_JSON)') $(BENCH_OPTIONS)

setup:
	@scripts/setup.sh

# Also brings libfuse2, on which the mounts are tested too, and the programs tested: rsync, ffmpeg.
test-setup:
	@scripts/setup.sh --tests

clean:
	rm -rf .venv .venv-bench .venv-cluster .venv-loaders build dist *.egg-info .mypy_cache .pytest_cache .ruff_cache .import_linter_cache
