# The short names people use. The work is done by CMake and by scripts/; a variable that matters:
#   BUILD=folder (build), CC=compiler (gcc), PREFIX=where to install (/usr/local), FUZZ_SECONDS (60)

export BUILD ?= build
export FUZZ_SECONDS ?= 60
PREFIX ?= /usr/local
ifneq ($(origin CC),default)
export CC
endif

.PHONY: all help demo test test-slow quick asan tsan fuzz fmt fmt-check bench cross coverage bless install clean

all: ## release build in build/, without the tests
	@scripts/bootstrap build
	@scripts/build release

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /\1	/p' Makefile | expand -t 12

demo: all ## build, then show hone on the model that comes with it
	@scripts/demo

test: ## the tests that CI runs
	@scripts/test

test-slow: ## the tests that take long: clang, threads under ThreadSanitizer, all tests under emulation
	@scripts/test slow

quick: ## release build and its quick tests
	@scripts/bootstrap build test
	@scripts/test quick

asan: ## tests under AddressSanitizer and UndefinedBehaviorSanitizer
	@scripts/bootstrap build test
	@scripts/test asan

tsan: ## tests of threads under ThreadSanitizer
	@scripts/bootstrap build test
	@scripts/test tsan

fuzz: ## every fuzz target for FUZZ_SECONDS
	@scripts/bootstrap build test
	@scripts/fuzz

fmt: ## lay out all C files
	@scripts/format

fmt-check: ## fail if `make fmt` would change something
	@scripts/format --check

bench: all ## time what bench/ holds
	@scripts/bench

cross: ## kernel checks of the other architecture under qemu-user
	@scripts/bootstrap build test cross
	@scripts/test cross

coverage: ## lines of src/ that the tests execute, per room
	@scripts/bootstrap build test
	@scripts/coverage

bless: all ## store the present output of the command-line tests and the present ABI as expected; make docs/json.md
	@tests/cli/run-cases --hone $(BUILD)/hone --bless tests/cli/*/*.sh
	@tests/structure/abi --bless $(BUILD)/libhone.so
	@tests/structure/json --bless

install: all ## library, header, program, man page, pkg-config file and CMake package under PREFIX
	@DESTDIR="$(DESTDIR)" cmake --install $(BUILD) --prefix $(PREFIX)

clean: ## remove the build folder
	rm -rf $(BUILD)
