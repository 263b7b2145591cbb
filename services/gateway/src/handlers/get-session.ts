import { knownSession } from '../known-session.ts';
import { readSession } from '../params.ts';
import { sessionJson } from '../session-json.ts';
import type { Handler } from './index.ts';

export const getSession: Handler = async (context, request) =>
  sessionJson(await knownSession(context, await readSession(context, request)));
