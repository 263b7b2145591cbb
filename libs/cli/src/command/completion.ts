import type { Command, Commands } from './command.ts';
import { commonFlags, type Groups, Misuse } from './program.ts';

/** The command that prints the completion of a shell. */
export function completionCommand(tree: () => { commands: Commands; groups: Groups }): Command {
  return {
    usage: '<shell>',
    meaning: 'prints the completion of the command for bash, zsh or fish',
    more: `For bash: agentmesh completion bash > ~/.local/share/bash-completion/completions/agentmesh
For zsh:  put  source <(agentmesh completion zsh)  into ~/.zshrc
For fish: agentmesh completion fish > ~/.config/fish/completions/agentmesh.fish`,
    async run([shell = '']) {
      const { commands, groups } = tree();
      const scripts: Record<string, () => string> = {
        bash: () => bashScript(commands),
        zsh: () =>
          `autoload -U +X compinit && compinit\nautoload -U +X bashcompinit && bashcompinit\n${bashScript(commands)}`,
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

function bashScript(commands: Commands): string {
  const cases = [...nextWords(commands)].map(([before, words]) =>
    before.includes(' ') || Object.hasOwn(commands, before)
      ? `    '${before}'|'${before} '*) next='${words.join(' ')}' ;;`
      : `    '${before}') next='${words.join(' ')}' ;;`,
  );
  return `_agentmesh() {
  local before='' next='' word
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
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
complete -F _agentmesh agentmesh`;
}

function fishScript(commands: Commands, groups: Groups): string {
  const quote = (text: string) => `'${text.replace(/[\\']/g, '\\$&')}'`;
  const line = (condition: string, word: string, meaning: string) =>
    `complete -c agentmesh -f -n ${quote(condition)} -a ${quote(word)} -d ${quote(meaning)}`;
  const lines = Object.entries(groups).map(([group, meaning]) =>
    line('__fish_use_subcommand', group, meaning),
  );
  for (const [name, command] of Object.entries(commands)) {
    const [first = '', second] = name.split(' ');
    const isHere =
      second === undefined
        ? `__fish_seen_subcommand_from ${first}`
        : `__fish_seen_subcommand_from ${first}; and __fish_seen_subcommand_from ${second}`;
    if (second === undefined) lines.push(line('__fish_use_subcommand', first, command.meaning));
    else {
      const others = Object.keys(commands).flatMap((each) =>
        each.startsWith(`${first} `) ? each.split(' ')[1] : [],
      );
      const condition = `__fish_seen_subcommand_from ${first}; and not __fish_seen_subcommand_from ${others.join(' ')}`;
      lines.push(line(condition, second, command.meaning));
    }
    for (const option of optionsOf(command))
      lines.push(`complete -c agentmesh -n ${quote(isHere)} -l ${option.replace('--', '')}`);
  }
  return lines.join('\n');
}
