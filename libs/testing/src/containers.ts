import type { Server } from './servers.ts';
export async function startNatsContainer(_: unknown): Promise<Server> {
  throw new Error('todo');
}
export async function startRedisContainer(_: unknown): Promise<Server> {
  throw new Error('todo');
}
