# WH_COMMIT: the short commit of the checkout, "unknown" outside one.
#
# It is read when CMake runs; the log of HEAD is a configure dependency, so a new commit makes the next
# build run CMake again.
set(WH_COMMIT "unknown")
find_package(Git QUIET)
if(GIT_FOUND AND EXISTS "${CMAKE_SOURCE_DIR}/.git")
    execute_process(
        COMMAND "${GIT_EXECUTABLE}" rev-parse --short=12 HEAD
        WORKING_DIRECTORY "${CMAKE_SOURCE_DIR}"
        OUTPUT_VARIABLE WH_GIT_COMMIT
        OUTPUT_STRIP_TRAILING_WHITESPACE
        ERROR_QUIET
        RESULT_VARIABLE WH_GIT_RESULT)
    if(WH_GIT_RESULT EQUAL 0)
        set(WH_COMMIT "${WH_GIT_COMMIT}")
    endif()
    execute_process(
        COMMAND "${GIT_EXECUTABLE}" rev-parse --git-path logs/HEAD
        WORKING_DIRECTORY "${CMAKE_SOURCE_DIR}"
        OUTPUT_VARIABLE WH_GIT_LOG
        OUTPUT_STRIP_TRAILING_WHITESPACE
        ERROR_QUIET)
    get_filename_component(WH_GIT_LOG "${WH_GIT_LOG}" ABSOLUTE BASE_DIR "${CMAKE_SOURCE_DIR}")
    if(EXISTS "${WH_GIT_LOG}")
        set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${WH_GIT_LOG}")
    endif()
endif()

# wh_define_version(target) - passes version and commit as macros.
function(wh_define_version target)
    target_compile_definitions(${target} PRIVATE
        WH_VERSION="${PROJECT_VERSION}" WH_COMMIT="${WH_COMMIT}")
endfunction()
