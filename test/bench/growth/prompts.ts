/**
 * The kinds of prompts by their share of the past: nothing, the last 20 events, all. Each names an app and
 * its agent.
 */
export const prompts = ['none', 'windowed', 'full'] as const;
export type Prompt = (typeof prompts)[number];

const MiB = 1024 * 1024;

/** The size of the session cache by prompt, in bytes. Sessions that are read in part need little. */
export const cacheBytes: Record<Prompt, number> = {
  none: 1_024 * MiB,
  windowed: 64 * MiB,
  full: 1_024 * MiB,
};
