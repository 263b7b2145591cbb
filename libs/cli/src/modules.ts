import type { Commands } from './command/command.ts';

/**
 * The modules of commands, in the order of the help. They are loaded when a command of them runs: together they
 * load every library.
 */
export const modules: Record<string, () => Promise<Commands>> = {
  project: async () => (await import('./project/project-commands.ts')).projectCommands,
  dev: async () => ({ dev: (await import('./dev/dev-command.ts')).devCommand }),
  render: async () => (await import('./render/render-commands.ts')).renderCommands,
  talk: async () => (await import('./talk/talk-commands.ts')).talkCommands,
  sessions: async () => (await import('./talk/session-commands.ts')).sessionCommands,
  pending: async () => (await import('./talk/pending.ts')).pendingCommands,
  services: async () => ({ ls: (await import('./inspect/list-services.ts')).listServicesCommand }),
  watch: async () => ({ watch: (await import('./inspect/watch.ts')).watchCommand }),
  logs: async () => ({ logs: (await import('./inspect/logs.ts')).logsCommand }),
  doctor: async () => ({ doctor: (await import('./inspect/doctor.ts')).doctorCommand }),
  operator: async () => (await import('./operate/operator-commands.ts')).operatorCommands,
  keys: async () => (await import('./operate/key-commands.ts')).keyCommands,
  streams: async () => (await import('./operate/stream-commands.ts')).streamCommands,
  join: async () => (await import('./operate/join/join-commands.ts')).joinCommands,
  accounts: async () => (await import('./operate/account-commands.ts')).accountCommands,
  provision: async () => (await import('./operate/provision-commands.ts')).provisionCommands,
};
