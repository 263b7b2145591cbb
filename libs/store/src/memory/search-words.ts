import { queryWords } from '@agentmesh/agent/internal';
import { KeyList, shortTerm } from './memory-batch.ts';
import type { MemoryPlace } from './memory-entries.ts';
import type { Ranked } from './memory-fusion.ts';
import { searchMemoriesScript } from './memory-scripts.ts';

/** Number of memories with a common word that a search reads. */
const width = 400;

/** Returns the numbers of the memories that have words of the query, best first. */
export async function searchWords(
  { connection, keys }: MemoryPlace,
  query: string,
  limit: number,
): Promise<Ranked[]> {
  const all = new KeyList([keys.order, keys.meta]);
  const words = queryWords(query).map((terms) => terms.map((term) => all.at(keys.posting(shortTerm(term)))));
  if (words.length === 0) return [];
  const request = JSON.stringify({ words, limit, width });
  const reply = await connection.script<string[]>(searchMemoriesScript, all.keys, [request]);
  return reply.flatMap((number, at) =>
    at % 2 ? [] : [{ number: Number(number), score: Number(reply[at + 1]) }],
  );
}
