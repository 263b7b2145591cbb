import type { ConsumerInfo, JetStreamManager } from '@nats-io/jetstream';

/** Lists the consumers of a stream. The server lists null for a consumer that is removed meanwhile: it is left out. */
export async function consumersOf(
  { consumers }: Pick<JetStreamManager, 'consumers'>,
  stream: string,
): Promise<ConsumerInfo[]> {
  const found: ConsumerInfo[] = [];
  for await (const info of consumers.list(stream)) if (info as ConsumerInfo | null) found.push(info);
  return found;
}
