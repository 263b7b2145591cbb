import { join } from 'node:path';
import { MeshError, parse } from '@agentmesh/protocol';
import { z } from 'zod';
import type { Handler } from '../context/route.ts';
import { sendFile } from './send-file.ts';
import { type WebFile, webFiles } from './web-files.ts';

/** The folder of the built page, in the package; see `page/build-page.ts`. */
const folder = join(import.meta.dirname, '..', '..', 'console');

/** The page loads nothing from other hosts and talks to its gateway alone. Its only picture is in the page itself. */
const headers = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
};

const params = z.object({ file: z.string().default('index.html') });

let files: Map<string, WebFile> | undefined;

/** Answers with the page of the console, or with its script or its style. Everybody may have them: they hold no data. */
export const consoleFile: Handler = ({ config }, request, reply) => {
  const { file: name } = parse(params, request.params, 'the path');
  if (config.console === 'off')
    throw new MeshError(
      'not_found',
      'the console is off here; the gateway serves it without MESH_CONSOLE=off',
    );
  files ??= webFiles(folder);
  const file = files.get(name);
  if (file) return sendFile(file, headers, request, reply);
  throw new MeshError('not_found', `the console has no file ${name}; it begins at /console`);
};
