import type { Surroundings } from '../command/command.ts';
import { actsOf, textOf } from './describe-event.ts';
import type { Gateway, GatewayMessage, GatewaySession } from './gateway.ts';

/** Sends a message, and prints the events of its run as they happen. @throws MeshError of the run */
export async function showRun(
  around: Surroundings,
  gateway: Gateway,
  session: GatewaySession,
  message: GatewayMessage,
): Promise<void> {
  let isTyping = false;
  for await (const event of gateway.run(session, message)) {
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
