import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Event } from '@agentmesh/protocol';

/**
 * Runs the shell commands of a document that name an app, with a gateway. Returns the events that they print.
 */
export async function runDocCommands(page: string, app: string, gatewayUrl: string): Promise<Event[]> {
  const text = readFileSync(join(import.meta.dirname, '..', page), 'utf8');
  const blocks = [...text.matchAll(/```sh\n(.*?)```/gs)].map(([, commands = '']) => commands);
  const commands = blocks.find((block) => block.includes(`/apps/${app}/`));
  if (!commands) throw new Error(`${page} has no commands for ${app}`);
  const here = commands.replaceAll('localhost:8000', gatewayUrl);
  const { stdout } = await promisify(execFile)('bash', ['-ec', here]);
  return [...stdout.matchAll(/^data: (.*)$/gm)].map(([, json = '']) => JSON.parse(json) as Event);
}
