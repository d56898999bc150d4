# Every target does its own set-up; see scripts/setup.sh.
.PHONY: run test lint exactness stress setup test-setup clean
.DEFAULT_GOAL := test
python := .venv/bin/python

# Mounts VIDEOS at MOUNT, by default the bundled sample under a fresh directory, until Ctrl-C.
run: setup
	@$(python) -m cli.sample $${VIDEOS:+--videos "$$VIDEOS"} $${MOUNT:+--mount "$$MOUNT"}

test: test-setup lint
	$(python) -m pytest

lint: setup
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	$(python) -m mypy
	.venv/bin/lint-imports --no-logo

# Compares every frame that a mount shows with a full decode; FRAMEFS_CORPUS names the videos.
exactness: setup
	$(python) -m tests.exactness

# Twenty readers for a minute while the videos under the mount are replaced, removed and added.
stress: setup
	$(python) -m tests.stress

setup:
	@scripts/setup.sh

# Also brings libfuse2, on which the mounts are tested too, and rsync, one of the programs tested.
test-setup:
	@scripts/setup.sh --tests

clean:
	rm -rf .venv build dist *.egg-info .mypy_cache .pytest_cache .ruff_cache .import_linter_cache
