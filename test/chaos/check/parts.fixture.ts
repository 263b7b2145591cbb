import type { Part } from '@google/genai';
import type { ClientView } from './history.ts';

/** Makes the view of a client that was told nothing. */
export const emptyView = (): ClientView => ({
  seen: [],
  texts: [],
  finished: false,
  ends: [],
  reconnects: 0,
  connections: [],
});

export const said = (role: string, text: string) => ({ role, parts: [{ text }] });

export const calls = (id: string, name: string, args: Record<string, unknown> = {}) => ({
  role: 'model',
  parts: [{ functionCall: { id, name, args } }],
});

export function responds(
  id: string,
  name: string,
  response: Record<string, unknown>,
): { role: string; parts: Part[] } {
  return { role: 'user', parts: [{ functionResponse: { id, name, response } }] };
}
