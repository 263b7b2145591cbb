import { type Event, replicaKey } from '@agentmesh/protocol';
import { answerWords, questionWords, short } from './question-words.ts';

/** Returns the text of an event; '' without one. */
export function textOf({ content }: Pick<Event, 'content'>): string {
  return (content?.parts ?? []).map(({ text, thought }) => (thought ? '' : (text ?? ''))).join('');
}

/** Returns a line for each call, response, transfer and error of an event. */
export function actsOf(event: Event): string[] {
  const parts = event.content?.parts ?? [];
  const acts = parts.flatMap(({ functionCall, functionResponse }) => [
    ...(functionCall ? [callLine(functionCall, event.author ?? '')] : []),
    ...(functionResponse ? [responseLine(functionResponse)] : []),
  ]);
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

type Part = NonNullable<NonNullable<Event['content']>['parts']>[number];

function callLine({ name = '', args = {} }: NonNullable<Part['functionCall']>, agent: string): string {
  const question = questionWords({ name, args, agent });
  return question === undefined ? `→ ${name}(${short(args)})` : `? ${question}`;
}

function responseLine({ name = '', response = {} }: NonNullable<Part['functionResponse']>): string {
  return `← ${answerWords(name, response) ?? `${name} ${short(response)}`}`;
}
