# Functions that the folders' CMakeLists.txt are made of.
#
# Sources are globbed, not listed: every folder is flat and every .c file in it belongs to it, so a list
# would only repeat the directory. CONFIGURE_DEPENDS makes the build look for new files by itself.

# wh_glob(<out> <pattern>) - files of the current folder.
function(wh_glob out pattern)
    file(GLOB files CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/${pattern}")
    set(${out} "${files}" PARENT_SCOPE)
endfunction()

# wh_add_folder(<folder>) - adds it to the build if it has sources and a CMakeLists.txt.
function(wh_add_folder folder)
    file(GLOB sources CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/${folder}/*.c")
    if(NOT sources)
        return()
    endif()
    if(NOT EXISTS "${CMAKE_SOURCE_DIR}/${folder}/CMakeLists.txt")
        message(FATAL_ERROR "${folder}/ has sources, expected a ${folder}/CMakeLists.txt")
    endif()
    add_subdirectory(${folder})
endfunction()

# wh_link_folders(<target> <scope> <folder>...) - links the libraries of the folders that exist.
function(wh_link_folders target scope)
    foreach(folder IN LISTS ARGN)
        if(TARGET wh_${folder})
            target_link_libraries(${target} ${scope} wh_${folder})
        endif()
    endforeach()
endfunction()

# wh_folder_library(<folder> DEPENDS <folder>... PACKAGES <pkg-config module>... EXCEPT <file>...)
# The static library wh_<folder>. Its headers and those of what it depends on can be included from
# wherever it is linked.
function(wh_folder_library folder)
    cmake_parse_arguments(arg "" "" "DEPENDS;PACKAGES;EXCEPT" ${ARGN})
    wh_glob(sources "*.c")
    foreach(file IN LISTS arg_EXCEPT)
        list(REMOVE_ITEM sources "${CMAKE_CURRENT_SOURCE_DIR}/${file}")
    endforeach()
    add_library(wh_${folder} STATIC ${sources})
    target_include_directories(wh_${folder} PUBLIC "${CMAKE_CURRENT_SOURCE_DIR}")
    wh_link_folders(wh_${folder} PUBLIC ${arg_DEPENDS})
    foreach(package IN LISTS arg_PACKAGES)
        pkg_check_modules(${package} REQUIRED QUIET IMPORTED_TARGET ${package})
        target_link_libraries(wh_${folder} PUBLIC PkgConfig::${package})
    endforeach()
    target_link_libraries(wh_${folder} PUBLIC m)
endfunction()

# All folders that are libraries, for tests and benchmarks, which may use any.
set(WH_ALL_FOLDERS tools lib workloads steady memo core sched)
