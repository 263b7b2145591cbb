import type { Surroundings } from '../command/command.ts';
import { actsOf, textOf } from './describe-event.ts';
import { followRun, type Said } from './follow-run.ts';
import type { Gateway } from './gateway.ts';

/** Sends a message, and prints the events of its run as they happen. @throws MeshError as `followRun` */
export async function showRun(around: Surroundings, gateway: Gateway, said: Said): Promise<void> {
  let isTyping = false;
  for await (const event of followRun(around, gateway, said)) {
    const text = textOf(event);
    if (event.partial) {
      if (text !== '') around.type(isTyping ? text : `${event.author}: ${text}`);
      isTyping ||= text !== '';
      continue;
    }
    const lines = actsOf(event).map((act) => `  ${event.author} ${act}`);
    // The text was typed already, piece by piece.
    if (isTyping) around.type('\n');
    else if (text !== '') lines.unshift(`${event.author}: ${text}`);
    isTyping = false;
    around.write({ text: lines.join('\n'), json: event });
  }
  if (isTyping) around.type('\n');
}
