#compdef {program}
# Completion of {program} for zsh. Load it with: source <({program} completion zsh)

_{function}() {
    local out directive line name about
    local -a candidates
    out="$("${words[1]}" __complete "${(@)words[2,CURRENT]}" 2>/dev/null)" || return
    directive="${out##*:}"
    out="${out%:*}"
    while IFS= read -r line; do
        [[ -z "$line" ]] && continue
        name="${line%%$'\t'*}"
        about=""
        [[ "$line" == *$'\t'* ]] && about="${line#*$'\t'}"
        candidates+=("${name//:/\\:}${about:+:$about}")
    done <<<"$out"
    if (( ${#candidates} )); then
        _describe 'candidates' candidates
    elif [[ "$directive" != 4 ]]; then
        _files
    fi
}

if [ "$funcstack[1]" = "_{function}" ]; then
    _{function}
else
    compdef _{function} {program}
fi
