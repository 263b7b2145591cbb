import type { Handler, Route } from '../../context/route.ts';
import { openApiDocument } from '../../contract/open-api.ts';

/** Answers with the OpenAPI document of these routes. It is the same for everyone. */
export function openApi(routes: () => readonly Route[]): Handler {
  let document: string | undefined;
  return (_context, _request, reply) => {
    document ??= JSON.stringify(openApiDocument(routes()));
    return reply.headers({ 'cache-control': 'no-cache', 'content-type': 'application/json' }).send(document);
  };
}
