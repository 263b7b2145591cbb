export type {
  Bus,
  BusStatus,
  ConsumeOptions,
  Directory,
  EnqueueOptions,
  IncomingRequest,
  Message,
  PublishOptions,
  ReceivedFrame,
  RequestHandler,
  RequestOptions,
  ServeOptions,
  ServiceInfo,
  Started,
  WorkItem,
  WorkOutcome,
} from './bus.ts';
export { heartbeatMs, queueGroup } from './bus.ts';
export type { OnError } from './link.ts';
export type { MemoryConnectOptions, MemoryHubOptions } from './memory/hub.ts';
export { MemoryHub } from './memory/hub.ts';
export type { NatsOptions } from './nats/connect.ts';
export { connectNats } from './nats/connect.ts';
export type { DeadLetters, StoredDeadLetter } from './nats/dead-letters.ts';
export { openDeadLetters } from './nats/dead-letters.ts';
export type { NatsAddress } from './nats/dial.ts';
export type { OrphanQueues, Orphans } from './nats/orphans.ts';
export { openOrphans } from './nats/orphans.ts';
export type { ProvisionOptions } from './nats/provision.ts';
export { provision } from './nats/provision.ts';
export type { OperatorOptions, StoredCards } from './nats/stored-cards.ts';
export { openCards } from './nats/stored-cards.ts';
export type {
  ObjectBucket,
  OpenedObject,
  RecordBucket,
  StoredObject,
  StoredRecord,
} from './objects/buckets.ts';
