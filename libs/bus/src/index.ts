export type { OnError } from './bus/broker-link.ts';
export type {
  ObjectBucket,
  ObjectPieces,
  OpenedObject,
  RecordBucket,
  StoredObject,
  StoredPiece,
  StoredRecord,
} from './bus/buckets.ts';
export type {
  Bus,
  BusStatus,
  ConsumeOptions,
  CountedCalls,
  EnqueueOptions,
  GhostItem,
  IncomingRequest,
  Message,
  PublishOptions,
  ReceivedFrame,
  RequestHandler,
  RequestOptions,
  ServeOptions,
  ServiceInfo,
  Started,
  StoredItem,
  SubscribeOptions,
  WorkItem,
  WorkOutcome,
} from './bus/bus.ts';
export { heartbeatMs, queueGroup } from './bus/bus.ts';
export type { Directory } from './bus/directory.ts';
export type { MemoryConnectOptions, MemoryHubOptions } from './memory/memory-hub.ts';
export { MemoryHub } from './memory/memory-hub.ts';
export { chunksOf } from './nats/buckets/chunks.ts';
export { connectNats } from './nats/connect-nats.ts';
export type { NatsOptions } from './nats/nats-options.ts';
export type { AccountResolver } from './nats/operator/account-resolver.ts';
export { openResolver } from './nats/operator/account-resolver.ts';
export { openDeadLetters } from './nats/operator/dead-letters.ts';
export type { InspectedStream, JetStreamFacts, NatsInspection } from './nats/operator/inspect-nats.ts';
export { inspectNats, natsVersion } from './nats/operator/inspect-nats.ts';
export type { MeshObserver, ObservedQueue, ObserverOptions } from './nats/operator/observer.ts';
export { openObserver } from './nats/operator/observer.ts';
export type { OrphanMessage, OrphanQueues, Orphans } from './nats/operator/orphans.ts';
export { openOrphans } from './nats/operator/orphans.ts';
export type { ProvisionOptions } from './nats/operator/provision.ts';
export { provision } from './nats/operator/provision.ts';
export type { ReplicaLoad, ReplicaStats } from './nats/operator/replica-stats.ts';
export { shownVersion } from './nats/operator/replica-stats.ts';
export type { ServiceQueues } from './nats/operator/service-queues.ts';
export { openQueues } from './nats/operator/service-queues.ts';
export type { ServiceStats } from './nats/operator/service-stats.ts';
export { openServiceStats } from './nats/operator/service-stats.ts';
export type { OperatorOptions, StoredCards } from './nats/operator/stored-cards.ts';
export { openCards } from './nats/operator/stored-cards.ts';
export type { DeadLetters, LetterWriter, StoredDeadLetter } from './nats/operator/stored-dead-letters.ts';
export type {
  Ghost,
  GhostVerdict,
  QueueFigures,
  SweptQueue,
  WorkStreams,
} from './nats/operator/work-streams.ts';
export { openWorkStreams } from './nats/operator/work-streams.ts';
export { isDenied } from './nats/wire/is-denied.ts';
export type { NatsAddress } from './nats/wire/nats-address.ts';
export type { NatsTls } from './nats/wire/tls.ts';
export { isUnanswered } from './requests/read-frame.ts';
