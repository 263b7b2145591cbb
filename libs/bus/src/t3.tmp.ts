import { startNats } from '@agentmesh/testing/servers';
import { connectNats, provision } from './index.ts';
import { subjects } from '@agentmesh/protocol';
const names = subjects();
const server = await startNats();
await provision({ url: server.url, agents: ['w'], ackWaitMs: 8_000 });
const onError = (e: unknown, w: string) => console.log('onError', w, e);
const sender = await connectNats({ url: server.url, service: 's', onError });
const stay = await connectNats({ url: server.url, service: 'w', onError });
import { connect } from '@nats-io/transport-node';
const mon = await connect({ servers: server.url });
const acks = new Map<string, string[]>();
mon.subscribe('$JS.ACK.>', { callback: (_e, m) => { const t = m.subject.split('.'); const k = t[5] as string; acks.set(k, [...(acks.get(k) ?? []), `${Math.round(performance.now())} dc${t[4]} cseq${t[6]} ${m.string()}`]); } });
const done = new Map<number, number>(); let redelivered = 0; let slowest = 0;
const sentAt = new Map<number, number>();
const handler = async (item: { json(): unknown; attempt: number }) => {
  const n = item.json() as number;
  if (item.attempt > 1) redelivered++;
  for (let i = 0; i < Math.random() * 3; i++) await new Promise((r) => setImmediate(r));
  done.set(n, (done.get(n) ?? 0) + 1);
  const took = performance.now() - (sentAt.get(n) ?? 0); if (took > 3000) setTimeout(() => console.log('slow', n, (item as { key: string }).key, item.attempt, Math.round(took), acks.get((item as { key: string }).key.split('-')[1] as string)), 200);
  slowest = Math.max(slowest, performance.now() - (sentAt.get(n) ?? 0));
  return { done: true } as const;
};
await stay.consumeRuns('w', handler, { slots: 2 });
let sent = 0; let stop = false;
const send = (async () => { while (!stop) { const n = sent++; sentAt.set(n, performance.now()); await sender.enqueue(names.agentRun('w'), n, { messageId: `${n}` }); } })();
for (let cycle = 0; cycle < 600; cycle++) {
  const bus = await connectNats({ url: server.url, service: 'w', onError, cards: false });
  const w = await bus.consumeRuns('w', handler, { slots: 8 });
  for (let i = 0; i < Math.random() * 20; i++) await new Promise((r) => setImmediate(r));
  await w.stop({ graceMs: 0 });
  await bus[Symbol.asyncDispose]();
}
stop = true; await send;
const t = performance.now();
while (done.size < sent && performance.now() - t < 35_000) await new Promise((r) => setTimeout(r, 5));
console.log({ sent, done: done.size, twice: [...done.values()].filter((n) => n > 1).length, redelivered, waited: Math.round(performance.now() - t), slowest: Math.round(slowest) });
await mon.close(); await sender[Symbol.asyncDispose](); await stay[Symbol.asyncDispose](); await server.stop();
