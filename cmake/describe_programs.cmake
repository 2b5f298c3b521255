# Writes completion scripts and manual pages of the programs, which know their own options, in the layout of
# /usr/share.
# usage: cmake -DMEGA=PROGRAM -DMEGA_RUN=PROGRAM -DFOLDER=FOLDER -P describe_programs.cmake
function(describe program name)
  foreach(shell bash zsh fish)
    if(shell STREQUAL bash)
      set(file bash-completion/completions/${name})
    elseif(shell STREQUAL zsh)
      set(file zsh/site-functions/_${name})
    else()
      set(file fish/vendor_completions.d/${name}.fish)
    endif()
    cmake_path(GET file PARENT_PATH subfolder)
    file(MAKE_DIRECTORY ${FOLDER}/${subfolder})
    execute_process(COMMAND ${program} completion ${shell} OUTPUT_FILE ${FOLDER}/${file} COMMAND_ERROR_IS_FATAL ANY)
  endforeach()
  execute_process(COMMAND ${program} man ${FOLDER}/man/man1 COMMAND_ERROR_IS_FATAL ANY)
endfunction()

file(REMOVE_RECURSE ${FOLDER})
describe(${MEGA} mega)
describe(${MEGA_RUN} mega-run)
