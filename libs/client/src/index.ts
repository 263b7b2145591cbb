export type { ClientOptions, Message, RunOptions, SessionRef } from './client.ts';
export { MeshClient } from './client.ts';
export { MeshClientError } from './client-error.ts';
export type { RequestOptions } from './connection.ts';
export type {
  ArtifactVersion,
  Content,
  Event,
  EventActions,
  Invocation,
  Part,
  PendingCall,
  Question,
  Session,
  StoredEvent,
} from './data.ts';
export { questionsIn, textOf } from './data.ts';
export type { FollowOptions, RunEvent } from './run.ts';
export { Run } from './run.ts';
