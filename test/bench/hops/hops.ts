/** The number of tokens of an answer, and the time between two, in ms. */
export const [tokens, gapMs] = [40, 5];

/** The numbers of hops that are compared. */
export const hops = [1, 2, 3];

/** The subject on which a program asks for tokens by nats.js alone. */
export const rawTokens = 'bench.tokens';

/** Names the agent after that many hops. */
export function hopAgent(hop: number): string {
  return `hop_${hop}_agent`;
}

export function appOf(hop: number): string {
  return `hop_${hop}_app`;
}

/** The time of the machine, which all processes share, in ns as text. */
export function now(): string {
  return String(process.hrtime.bigint());
}

/** Returns the time since {@link now} was called, in ms. */
export function since(time: string): number {
  return Number(process.hrtime.bigint() - BigInt(time)) / 1e6;
}
