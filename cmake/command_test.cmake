# cmake -DPROGRAM=meshwise -DFILE=case.txt -P command_test.cmake: runs the command line of the file's first line, `$ meshwise ARGUMENTS`, and
# compares what it prints on both streams, with `[exit CODE]` behind it where that is not 0, with the file's other lines.
# MESHWISE_UPDATE=1 in the environment writes the file anew.
file(READ ${FILE} wanted)
string(REGEX MATCH "^[$] meshwise ([^\n]*)\n" line "${wanted}")
separate_arguments(arguments UNIX_COMMAND "${CMAKE_MATCH_1}")
execute_process(COMMAND ${PROGRAM} ${arguments} OUTPUT_VARIABLE output ERROR_VARIABLE output RESULT_VARIABLE rc)
if(NOT rc EQUAL 0)
  string(APPEND output "[exit ${rc}]\n")
endif()
if("$ENV{MESHWISE_UPDATE}")
  file(WRITE ${FILE} "${line}${output}")
elseif(NOT "${line}${output}" STREQUAL "${wanted}")
  message(FATAL_ERROR "${FILE}: it printed\n${output}")
endif()
