import type { Command, Commands } from './command.ts';
import { commonFlags, type Groups, Misuse } from './program.ts';

/** The command that prints the completion of a shell. */
export function completionCommand(tree: () => { commands: Commands; groups: Groups }): Command {
  return {
    usage: '<shell>',
    meaning: 'prints the completion of the command for bash, zsh or fish',
    more: `For bash: put  source <(npx agentmesh completion bash)  into ~/.bashrc
For zsh:  put  source <(npx agentmesh completion zsh)  into ~/.zshrc
For fish: put  npx agentmesh completion fish | source  into ~/.config/fish/config.fish
It completes agentmesh and npx agentmesh; in bash and zsh the latter only when nothing else completes npx.
A shell takes a moment longer to start: write the output to a file, and source that, to save it.`,
    async run([shell = '']) {
      const { commands, groups } = tree();
      const scripts: Record<string, () => string> = {
        bash: () => bashScript(commands, 'complete -p npx >/dev/null 2>&1'),
        zsh: () =>
          `autoload -U +X compinit && compinit\nautoload -U +X bashcompinit && bashcompinit\n${bashScript(commands, '(( $+_comps[npx] ))')}`,
        fish: () => fishScript(commands, groups),
      };
      const script = Object.hasOwn(scripts, shell) ? scripts[shell] : undefined;
      if (!script)
        throw new Misuse(`there is no completion for ${JSON.stringify(shell)}; use bash, zsh or fish`);
      const text = script();
      return { lines: [text], json: { shell, script: text } };
    },
  };
}

/** Returns the words that may follow, by the words before: commands, then the options of a command. */
function nextWords(commands: Commands): Map<string, string[]> {
  const next = new Map<string, Set<string>>();
  const add = (before: string, word: string) => next.set(before, (next.get(before) ?? new Set()).add(word));
  for (const [name, command] of Object.entries(commands)) {
    const words = name.split(' ');
    for (const [at, word] of words.entries()) add(words.slice(0, at).join(' '), word);
    for (const option of optionsOf(command)) add(name, option);
  }
  return new Map([...next].map(([before, words]) => [before, [...words]]));
}

function optionsOf(command: Command): string[] {
  return [...(command.options ?? []).map(({ flags }) => flags.split(' ')[0] ?? ''), ...commonFlags];
}

/** @param hasNpx the test whether the shell completes npx already */
function bashScript(commands: Commands, hasNpx: string): string {
  const cases = [...nextWords(commands)].map(([before, words]) =>
    before.includes(' ') || Object.hasOwn(commands, before)
      ? `    '${before}'|'${before} '*) next='${words.join(' ')}' ;;`
      : `    '${before}') next='${words.join(' ')}' ;;`,
  );
  return `_agentmesh() {
  local before='' next='' word at=1
  # The words before: npx, and its options.
  while [ "\${COMP_WORDS[at-1]##*/}" != agentmesh ] && [ "$at" -lt "$COMP_CWORD" ]; do at=$((at+1)); done
  if [ "\${COMP_WORDS[at-1]##*/}" != agentmesh ]; then
    if [ "$COMP_CWORD" = 1 ]; then COMPREPLY=($(compgen -W agentmesh -- "\${COMP_WORDS[COMP_CWORD]}"))
    else COMPREPLY=(); fi
    return
  fi
  for word in "\${COMP_WORDS[@]:$at:$((COMP_CWORD-at))}"; do
    case "$word" in
      -*) ;;
      *) before="\${before:+$before }$word" ;;
    esac
  done
  case "$before" in
${cases.join('\n')}
  esac
  COMPREPLY=($(compgen -W "$next" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _agentmesh agentmesh
# The completion of npx that a shell may have already stays.
${hasNpx} || complete -o default -F _agentmesh npx`;
}

const fishFunctions = `function __agentmesh_before
  set -l words (commandline -opc)
  while set -q words[1]; and not string match -qr '(^|/)agentmesh$' -- $words[1]
    set -e words[1]
  end
  set -q words[1]; or return 1
  set -e words[1]
  string match -v -- '-*' $words | string join ' '
  return 0
end
function __agentmesh_at
  set -l before (__agentmesh_before); or return 1
  test "$before" = "$argv[1]"
end
function __agentmesh_in
  set -l before (__agentmesh_before); or return 1
  string match -q -- "$argv[1] *" "$before "
end`;

/** Completes both `agentmesh` and `npx agentmesh`. */
function fishScript(commands: Commands, groups: Groups): string {
  const quote = (text: string) => `'${text.replace(/[\\']/g, '\\$&')}'`;
  const line = (condition: string, rest: string) =>
    `complete -c agentmesh -c npx -n ${quote(condition)} ${rest}`;
  const wordLine = (before: string, word: string, meaning: string) =>
    line(`__agentmesh_at ${quote(before)}`, `-f -a ${quote(word)} -d ${quote(meaning)}`);
  const lines = Object.entries(groups).map(([group, meaning]) => wordLine('', group, meaning));
  for (const [name, command] of Object.entries(commands)) {
    const words = name.split(' ');
    lines.push(wordLine(words.slice(0, -1).join(' '), words.at(-1) ?? '', command.meaning));
    for (const option of optionsOf(command))
      lines.push(line(`__agentmesh_in ${quote(name)}`, `-l ${option.replace('--', '')}`));
  }
  return [fishFunctions, ...lines].join('\n');
}
