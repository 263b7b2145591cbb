import type { BrokerLink } from '../../../libs/bus/src/bus/broker-link.ts';
import type { ObjectBucket, RecordBucket } from '../../../libs/bus/src/bus/buckets.ts';
import type { MemoryBuckets } from '../../../libs/bus/src/memory/memory-buckets.ts';
import type { BrokerClient } from './broker-client.ts';

/** Returns the buckets of the server as one process reaches them: each call is a request. */
export function simBuckets(
  buckets: MemoryBuckets,
  insist: BrokerClient['insist'],
): Pick<BrokerLink, 'objects' | 'records'> {
  return {
    objects: (name) => {
      const bucket = buckets.objects(name);
      return {
        ...overWire(bucket, `object ${name}`, insist),
        async put(bytes, metadata) {
          const chunks: Uint8Array[] = [];
          for await (const chunk of bytes) chunks.push(chunk.slice());
          const all = async function* () {
            yield* chunks;
          };
          return (await insist(`object ${name}.put`, () => bucket.put(all(), metadata))).value;
        },
      } satisfies ObjectBucket;
    },
    records: (name): RecordBucket => overWire(buckets.records(name), `record ${name}`, insist),
  };
}

type Methods = Record<string, (...args: never[]) => Promise<unknown>>;

/** Makes each method of an object a request. */
function overWire<T extends object>(target: T, what: string, insist: BrokerClient['insist']): T {
  const wrapped = Object.entries(target as Methods).map(([name, method]) => [
    name,
    async (...args: never[]) => (await insist(`${what}.${name}`, () => method(...args))).value,
  ]);
  return Object.fromEntries(wrapped) as T;
}
