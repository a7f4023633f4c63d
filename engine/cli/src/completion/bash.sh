# Completion of {program} for bash. Load it with: source <({program} completion bash)

__{function}_complete() {
    local cur out directive line
    cur="${COMP_WORDS[COMP_CWORD]}"
    local words=("${COMP_WORDS[@]:1:COMP_CWORD}")
    # A shell that ends words at '=' or ':' hands them over in pieces.
    out="$("${COMP_WORDS[0]}" __complete "${words[@]}" 2>/dev/null)" || return
    directive="${out##*:}"
    out="${out%:*}"
    COMPREPLY=()
    while IFS= read -r line; do
        line="${line%%$'\t'*}"
        if [[ -n "$line" && "$line" == "$cur"* ]]; then
            COMPREPLY+=("$(printf '%q' "$line")")
        fi
    done <<<"$out"
    if [[ ${#COMPREPLY[@]} -eq 1 && "${COMPREPLY[0]}" == *= ]]; then
        compopt -o nospace 2>/dev/null
    fi
    if [[ ${#COMPREPLY[@]} -eq 0 && "$directive" != 4 ]]; then
        compopt -o default 2>/dev/null
    fi
}

complete -F __{function}_complete {program}
