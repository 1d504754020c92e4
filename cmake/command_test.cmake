# cmake -DPROGRAM=meshwise -DFILE=case.txt -P command_test.cmake: runs the command lines of the file, `$ meshwise ARGUMENTS`, and compares what
# each prints on both streams, with `[exit CODE]` behind it where that is not 0, with the lines below it.
# MESHWISE_UPDATE=1 in the environment writes the file anew.
file(READ ${FILE} wanted)
string(REGEX MATCHALL "[$] meshwise [^\n]*" lines "${wanted}")
set(found)
foreach(line IN LISTS lines)
  string(REGEX REPLACE "^[$] meshwise " "" arguments "${line}")
  separate_arguments(arguments UNIX_COMMAND "${arguments}")
  execute_process(COMMAND ${PROGRAM} ${arguments} OUTPUT_VARIABLE output ERROR_VARIABLE output RESULT_VARIABLE rc)
  # HDF5 writes times into its files, so no two of them have the same checksum.
  string(REGEX REPLACE "checksum is [0-9a-f]+, and (was|it says) [0-9a-f]+" "checksum is ~, and \\1 ~" output "${output}")
  # How many bytes files have beside the values is HDF5's and the manifest's affair.
  string(REGEX REPLACE "(blocks?, )[0-9.]+ [KMi]*B\\)" "\\1~)" output "${output}")
  string(REGEX REPLACE "(\"bytes_on_disk\": |\"blocks\": [0-9]+,[ \n]+\"bytes\": )[0-9]+" "\\1~" output "${output}")
  string(APPEND found "${line}\n${output}")
  if(NOT rc EQUAL 0)
    string(APPEND found "[exit ${rc}]\n")
  endif()
endforeach()
if("$ENV{MESHWISE_UPDATE}")
  file(WRITE ${FILE} "${found}")
elseif(NOT found STREQUAL wanted)
  message(FATAL_ERROR "${FILE}: it printed\n${found}")
endif()
