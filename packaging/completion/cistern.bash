# Completion of cistern for bash, and of zpool and zfs where these are Cistern's: whoever puts /usr/lib/cistern/bin first in
# PATH also sources this file afterwards. The program itself says what there is (cistern complete).

_cistern() {
	local line word program
	local -a words
	# Words as the program gets them: bash takes them apart at '=', ':' and '@' as well.
	line=${COMP_LINE:0:COMP_POINT}
	read -ra words <<<"$line"
	case $line in *[[:space:]]) words+=("") ;; esac
	word=${words[${#words[@]} - 1]}
	# Not what was typed, which may be an alias: zpool and zfs are words of cistern's, too.
	case ${words[0]##*/} in zpool | zfs) program=$(type -P "${words[0]}") ;; *) program=${words[0]} ;; esac
	[[ $program ]] || return 0
	case ${words[0]##*/} in zpool | zfs) program=$(readlink -f "$program") ;; esac
	mapfile -t COMPREPLY < <("$program" complete -- "${words[@]}" 2>/dev/null)
	# What bash has taken off already stays off.
	local breaks='' sign kept
	for sign in = : @; do [[ $COMP_WORDBREAKS == *"$sign"* ]] && breaks+=$sign; done
	if [[ $breaks && $word == *[$breaks]* ]]; then
		kept=${word%"${word##*[$breaks]}"}
		COMPREPLY=("${COMPREPLY[@]#"$kept"}")
	fi
	# A value, a dataset below or a snapshot follows.
	[[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *[=/@] ]] && compopt -o nospace 2>/dev/null
	return 0
}

complete -o bashdefault -o default -F _cistern cistern
for _cistern_name in zpool zfs; do
	case $(readlink -f "$(type -P "$_cistern_name")" 2>/dev/null) in
	*/cistern) complete -o bashdefault -o default -F _cistern "$_cistern_name" ;;
	esac
done
unset _cistern_name
