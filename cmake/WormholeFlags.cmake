# Compiler and linker flags that hold for the whole tree.

# gnu11 rather than c11: only so that the headers of the C library show POSIX; the code is C11.
set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_C_VISIBILITY_PRESET hidden)

if(NOT CMAKE_BUILD_TYPE)
    set(CMAKE_BUILD_TYPE Release CACHE STRING "Kind of build" FORCE)
endif()
set(CMAKE_C_FLAGS_RELEASE "-O3 -DNDEBUG")
set(CMAKE_C_FLAGS_DEBUG "-O1 -g -fno-omit-frame-pointer")

add_compile_options(-Wall -Wextra -Wshadow -Wconversion -Wvla -Wmissing-prototypes -Werror)
if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
    # gcc cannot know that err_set() and err_input() never return 0, so it takes the house pattern
    # (results are left untouched on failure, which the caller sees by the code) for a missing value.
    add_compile_options(-Wno-maybe-uninitialized)
endif()
# Fused multiply-add rounds once where the source rounds twice. Results must be the same bytes
# whatever the compiler and the machine.
add_compile_options(-ffp-contract=off)

if(WH_DEBUG)
    add_compile_definitions(WH_DEBUG)
endif()

if(WH_SANITIZE)
    add_compile_options(-fsanitize=${WH_SANITIZE} -fno-sanitize-recover=all)
    add_link_options(-fsanitize=${WH_SANITIZE})
endif()

if(WH_FUZZ)
    if(NOT CMAKE_C_COMPILER_ID MATCHES "Clang")
        message(FATAL_ERROR "WH_FUZZ needs clang, found ${CMAKE_C_COMPILER_ID}")
    endif()
    # Coverage feedback in every library; only the fuzz targets link libFuzzer's main.
    add_compile_options(-fsanitize=fuzzer-no-link)
    add_link_options(-fsanitize=fuzzer-no-link)
endif()

# Link-time optimisation. gcc's objects also hold ordinary code, so that the many test programs link
# without it; clang 14 has no such objects, there ThinLTO with lld is fast enough for all.
set(WH_LTO_LINK_OPTIONS "")
set(WH_NO_LTO_LINK_OPTIONS "")
if(WH_LTO)
    if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
        add_compile_options(-flto=auto -ffat-lto-objects)
        set(WH_LTO_LINK_OPTIONS -flto=auto -Wno-maybe-uninitialized)
        set(WH_NO_LTO_LINK_OPTIONS -fno-lto)
    else()
        find_program(WH_LLD ld.lld)
        if(WH_LLD)
            add_compile_options(-flto=thin)
            add_link_options(-flto=thin -fuse-ld=lld)
        else()
            message(STATUS "ld.lld not found: no link-time optimisation")
        endif()
    endif()
endif()

# The allocator of the programs; sanitizers bring their own. Always linked: with link-time optimisation
# the linker looks for what is needed before gcc has written the calls of malloc.
set(WH_ALLOCATOR "")
if(WH_JEMALLOC AND NOT WH_SANITIZE)
    pkg_check_modules(JEMALLOC REQUIRED jemalloc)
    # One word, or CMake would move the library away from its flags.
    set(WH_ALLOCATOR "-Wl,--push-state,--no-as-needed,${JEMALLOC_LINK_LIBRARIES},--pop-state")
endif()
