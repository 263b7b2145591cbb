import { type Event, replicaKey } from '@agentmesh/protocol';

/** The longest part of arguments and responses that a line shows, in characters. */
const mostChars = 300;

/** Returns the text of an event; '' without one. */
export function textOf({ content }: Pick<Event, 'content'>): string {
  return (content?.parts ?? []).map(({ text, thought }) => (thought ? '' : (text ?? ''))).join('');
}

/** Returns a line for each call, response, transfer and error of an event. */
export function actsOf(event: Event): string[] {
  const parts = event.content?.parts ?? [];
  const acts = parts.flatMap(({ functionCall, functionResponse }) => {
    if (functionCall) return [`→ ${functionCall.name}(${short(functionCall.args ?? {})})`];
    if (functionResponse) return [`← ${functionResponse.name} ${short(functionResponse.response ?? {})}`];
    return [];
  });
  const { transferToAgent } = event.actions;
  if (transferToAgent) acts.push(`⇒ ${transferToAgent} takes the conversation over`);
  if (event.errorCode) acts.push(`✗ ${event.errorCode}: ${event.errorMessage ?? ''}`);
  return acts;
}

/** Returns the replica that made an event; undefined for an event of a person. */
export function replicaOf({ customMetadata }: Event): string | undefined {
  const replica = customMetadata?.[replicaKey];
  return typeof replica === 'string' ? replica : undefined;
}

function short(value: unknown): string {
  const text = JSON.stringify(value);
  return text.length <= mostChars ? text : `${text.slice(0, mostChars)}…`;
}
