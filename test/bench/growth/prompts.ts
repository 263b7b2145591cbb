/** How much of the past a prompt holds: nothing, the last 20 events, all. The app and the agent of each have its name. */
export const prompts = ['none', 'windowed', 'full'] as const;
export type Prompt = (typeof prompts)[number];

const MiB = 1024 * 1024;

/** What the process may keep of sessions: those that are read in part need little. */
export const cacheBytes: Record<Prompt, number> = {
  none: 1_024 * MiB,
  windowed: 64 * MiB,
  full: 1_024 * MiB,
};
