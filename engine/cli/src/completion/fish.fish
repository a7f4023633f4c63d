# Completion of {program} for fish. Load it with: {program} completion fish | source

function __{function}_complete
    set -l words (commandline -opc)
    set -l last (commandline -ct)
    set -l out ($words[1] __complete $words[2..-1] "$last" 2>/dev/null)
    test (count $out) -gt 0; or return 1
    if test (count $out) -gt 1
        printf '%s\n' $out[1..-2]
    else if test "$out[-1]" != ":4"
        __fish_complete_path "$last"
    end
end

complete -c '{program}' -e
complete -c '{program}' -f -a '(__{function}_complete)'
