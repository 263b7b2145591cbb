import { MeshError } from '@agentmesh/protocol';
import type { Command } from './surroundings.ts';

/** The error for a command that does not exist, or whose arguments are wrong. */
export class WrongUsage extends MeshError {
  constructor(problem: string, commands: Record<string, Command>, only?: string) {
    super('invalid_argument', `${problem}\n${usageOf(commands, only)}`);
  }
}

/** Returns the usage of commands: of all, of a group (`cards`), or of one. */
export function usageOf(commands: Record<string, Command>, only?: string): string {
  const rows = Object.entries(commands)
    .filter(([name]) => only === undefined || name === only || name.startsWith(`${only} `))
    .map(([name, each]) => [[name, each.usage].filter(Boolean).join(' '), each.meaning] as const);
  const width = Math.max(...rows.map(([words]) => words.length));
  const lines = rows.map(([words, meaning]) => `  ${words.padEnd(width)}  ${meaning}`);
  return `usage: npm run mesh -- <command>\n${lines.join('\n')}`;
}
