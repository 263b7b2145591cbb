import { type Event, partSchema } from '@agentmesh/protocol';
import type { Content, Part } from '@google/genai';
import { hasData, withoutBareParts } from '../events/part-data.ts';
import { isQuestionName } from '../events/question.ts';
import { stepAuthor } from '../journal/step-mark.ts';

/**
 * Returns the content that a prompt shows of an event: without the framework's questions to people and their answers,
 * and with words in the place of parts that no model takes. Undefined if it shows nothing.
 */
export function shownContent({ content, partial }: Event): Content | undefined {
  if (partial || !content?.role || !hasParts(content)) return undefined;
  const { parts = [] } = content;
  const data = withoutBareParts(parts.every(isFit) ? parts : parts.map(fit));
  const rest = data.some(isQuestion) ? data.filter((part) => !isQuestion(part)) : data;
  if (rest === parts) return content;
  return rest.length === 0 ? undefined : { ...content, parts: [...rest] };
}

function hasParts({ parts = [] }: Content): boolean {
  return parts.some(hasData);
}

/** Logs of older versions hold parts that the door refuses today. */
function isFit(part: Part): boolean {
  return partSchema.safeParse(part).success;
}

function fit(part: Part): Part {
  return isFit(part) ? part : { text: '[a part that no model can read]' };
}

function isQuestion({ functionCall, functionResponse }: Part): boolean {
  return isQuestionName(functionCall?.name ?? functionResponse?.name);
}

/** Tells whether an event comes from another agent. User code may have put another name on an agent's own event. */
export function isFromOther(event: Event, agentName: string): event is Event & { author: string } {
  const { author } = event;
  if (author === undefined || author === 'user' || author === agentName) return false;
  return stepAuthor(event) !== agentName;
}

/**
 * Retells the content of another agent as context, because it must not look like this agent's own words or
 * calls.
 */
export function retell(author: string, { parts = [] }: Content): Content {
  const retold = parts.filter(({ thought }) => !thought).map((part) => retellPart(author, part));
  return { role: 'user', parts: [{ text: 'For context:' }, ...retold] };
}

function retellPart(author: string, part: Part): Part {
  const { text, functionCall: call, functionResponse: response } = part;
  if (text !== undefined) return { text: `[${author}] said: ${text}` };
  if (call)
    return { text: `[${author}] called tool \`${call.name}\` with parameters: ${JSON.stringify(call.args)}` };
  if (response) {
    return {
      text: `[${author}] tool \`${response.name}\` returned result: ${JSON.stringify(response.response)}`,
    };
  }
  return part;
}
