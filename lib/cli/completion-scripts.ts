export const SHELLS = ['bash', 'zsh', 'fish'] as const;

export type Shell = (typeof SHELLS)[number];

/** The hidden command that the scripts call with the words before the cursor; it prints what may stand there, a line each. */
export const COMPLETE = 'complete';

const BASH = `# Completes nestjs-delay-queue in bash.
_nestjs_delay_queue() {
  local line=\${COMP_LINE:0:COMP_POINT} found
  local -a words
  read -ra words <<< "$line"
  [[ $line == *[[:space:]] ]] && words+=('')
  local current=\${words[\${#words[@]}-1]}
  # bash takes what follows a colon for a word of its own.
  local before=''
  [[ $current == *:* ]] && before=\${current%"\${current##*:}"}
  COMPREPLY=()
  while IFS= read -r found; do
    COMPREPLY+=("\${found#"$before"}")
  done < <(nestjs-delay-queue ${COMPLETE} -- "\${words[@]:1}" 2> /dev/null)
}
complete -o default -F _nestjs_delay_queue nestjs-delay-queue
`;

const ZSH = `#compdef nestjs-delay-queue
# Completes nestjs-delay-queue in zsh.
_nestjs_delay_queue() {
  local -a found
  found=("\${(@f)$(nestjs-delay-queue ${COMPLETE} -- "\${(@)words[2,CURRENT]}" 2> /dev/null)}")
  compadd -- "\${(@)found:#}"
}
if [ "$funcstack[1]" = "_nestjs_delay_queue" ]; then
  _nestjs_delay_queue "$@"
else
  compdef _nestjs_delay_queue nestjs-delay-queue
fi
`;

const FISH = `# Completes nestjs-delay-queue in fish.
complete -c nestjs-delay-queue -f -a '(nestjs-delay-queue ${COMPLETE} -- (commandline -opc)[2..-1] (commandline -ct) 2> /dev/null)'
`;

export const COMPLETION_SCRIPTS: Readonly<Record<Shell, string>> = { bash: BASH, zsh: ZSH, fish: FISH };
