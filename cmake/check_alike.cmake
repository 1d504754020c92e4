# cmake -DLIKE=file.out -DBUT=REGEX -P check_alike.cmake -- command...: the command's standard output is that file but for lines that
# match BUT (none of which holds a backslash), and there it is another: what was asked for differently shows.
include(${CMAKE_CURRENT_LIST_DIR}/CommandBehind.cmake)
execute_process(COMMAND ${command} OUTPUT_VARIABLE got ERROR_VARIABLE errors RESULT_VARIABLE rc)
string(REPLACE "\r\n" "\n" got "${got}")  # mpirun gives its children a terminal
file(READ ${LIKE} wanted)
if(NOT rc EQUAL 0)
  message(FATAL_ERROR "exit code ${rc}\n${got}${errors}")
endif()
if(got STREQUAL wanted)
  message(FATAL_ERROR "the whole output is ${LIKE}: nothing was done differently")
endif()
foreach(text got wanted)
  string(REGEX REPLACE "\n[^\n]*(${BUT})[^\n]*" "\n" ${text}_rest "\n${${text}}")
endforeach()
if(NOT got_rest STREQUAL wanted_rest)
  message(FATAL_ERROR "besides lines with ${BUT} the output has to be ${LIKE}; it was\n${got}${errors}")
endif()
