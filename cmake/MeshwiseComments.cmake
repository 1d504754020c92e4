# meshwise_read_comment(FILE KEY VARIABLE): sets VARIABLE to the list of values of the lines `// KEY: value`
# (or `// KEY`, value ON) among FILE's leading comment lines; editing FILE configures again.
function(meshwise_read_comment file key variable)
  set(values)
  file(STRINGS ${file} lines LIMIT_COUNT 40 REGEX "^// ${key}(:.*)?$")
  foreach(line IN LISTS lines)
    if(line MATCHES "^// ${key}:[ ]*(.*)$")
      list(APPEND values "${CMAKE_MATCH_1}")
    else()
      list(APPEND values ON)
    endif()
  endforeach()
  set(${variable} "${values}" PARENT_SCOPE)
endfunction()
