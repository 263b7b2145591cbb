import type { AnsweredBy, Caller, Event, RunConfig } from '@agentmesh/protocol';
import type { Content } from '@google/genai';
import type { PluginManager } from '../base/plugin-manager.ts';
import { createEvent } from '../events/event.ts';
import { messageEventId } from '../events/run-ids.ts';
import { wellFormed } from '../events/well-formed.ts';
import type { SavedMessage } from './save-input-blobs.ts';

/** The things that the event of a message says beside the message. */
export interface MessageOptions {
  invocationId: string;
  /** Id of a run that continues an ended invocation with answers to its questions. */
  resume?: string;
  stateDelta?: Record<string, unknown>;
  /** Metadata of the user's event. */
  customMetadata?: Record<string, unknown> | undefined;
  /** The sender of the answers in the message; recorded in its event, under `customMetadata.answeredBy`. */
  answeredBy?: AnsweredBy;
  caller?: Caller | undefined;
  runConfig: RunConfig;
  pluginManager?: PluginManager;
}

interface MessagePlace {
  userId: string;
  sessionId: string;
}

/**
 * Makes the event of the user's message. Its id follows from invocation and session, so a second start does
 * not commit it twice.
 */
export function createMessageEvent(
  { stateDelta = {}, ...options }: MessageOptions,
  { userId, sessionId }: MessagePlace,
  userMessage: Content,
  { content, artifactDelta }: SavedMessage,
): Event {
  const customMetadata = metadataOf(options, userId, userMessage);
  return createEvent({
    id: messageEventId(options, sessionId),
    invocationId: options.invocationId,
    author: 'user',
    content,
    ...(customMetadata && { customMetadata }),
    actions: { stateDelta: { ...stateDelta }, artifactDelta },
  });
}

/**
 * Returns the event of a message whose commit needs no look at the session and no code of the user: of texts alone,
 * in a run that begins an invocation. Undefined for any other message.
 */
export function plainMessageEvent(
  options: MessageOptions,
  place: MessagePlace,
  message: Content | undefined,
): Event | undefined {
  const { resume, stateDelta, runConfig, pluginManager } = options;
  const isPlain = message?.parts?.every(
    (part) => typeof part.text === 'string' && Object.keys(part).length === 1,
  );
  if (!isPlain || !message?.parts?.length || resume !== undefined || stateDelta !== undefined)
    return undefined;
  if (runConfig.saveInputBlobsAsArtifacts || runConfig.plainTextToolConfirmation) return undefined;
  if (pluginManager?.has('onUserMessageCallback')) return undefined;
  const content = withRole(message);
  return createMessageEvent(options, place, content, { content, artifactDelta: {} });
}

/** Returns a message with its role, that of the user by default, and with whole characters. */
export function withRole(message: Content): Content {
  return { ...wellFormed(message), role: message.role ?? 'user' };
}

function metadataOf(
  { customMetadata, answeredBy, caller }: MessageOptions,
  userId: string,
  { parts = [] }: Content,
): Record<string, unknown> | undefined {
  const isAnswer = answeredBy && parts.some(({ functionResponse }) => functionResponse);
  // An operator who asks in the name of a user must not approve it.
  const isOther = caller?.user !== undefined && caller.user !== userId;
  if (!isAnswer && !isOther) return customMetadata;
  return { ...customMetadata, ...(isAnswer && { answeredBy }), ...(isOther && { sentBy: caller.user }) };
}
