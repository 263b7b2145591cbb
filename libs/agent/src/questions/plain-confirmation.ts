import type { Event } from '@agentmesh/protocol';
import type { Content } from '@google/genai';
import { getFunctionResponses } from '../events/event.ts';
import { logIndex } from '../events/log-index.ts';
import { type Question, questionNames } from '../events/question.ts';

const yes = new Set('yes y true approve approved ok okay confirm confirmed'.split(' '));
const no = new Set('no n false reject rejected deny denied cancel cancelled'.split(' '));

/**
 * Turns a plain "yes" or "no" into the answer to the first open confirmation of the last turn. Returns any
 * other message unchanged, also when no confirmation is open.
 */
export function readPlainConfirmation(message: Content, events: readonly Event[]): Content {
  const { parts = [] } = message;
  const text = parts.every((part) => typeof part.text === 'string') ? parts.map((part) => part.text) : [];
  const word = text.join('').trim().toLowerCase();
  const question = yes.has(word) || no.has(word) ? confirmationOfLastTurn(events) : undefined;
  if (!question) return message;
  const { id, name } = question;
  return { ...message, parts: [{ functionResponse: { id, name, response: { confirmed: yes.has(word) } } }] };
}

/** Finds the first open confirmation since the user's last message that was not an answer. */
function confirmationOfLastTurn(events: readonly Event[]): Question | undefined {
  const start = events.findLastIndex(
    (event) => event.author === 'user' && getFunctionResponses(event).length === 0,
  );
  const index = logIndex(events);
  return [...index.openQuestions].find(
    ({ name, event }) => name === questionNames.confirmation && (index.positionOf(event.id) ?? -1) > start,
  );
}
