/**
 * Returns a function that sends requests of a person to gateways in turn, which authenticate by the headers `X-User`
 * and `X-Roles`.
 */
export function withGateways(urls: () => readonly string[], user: string, roles = 'user') {
  let turn = 0;
  return async (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) => {
    const all = urls();
    turn += 1;
    return await fetch(`${all[turn % all.length]}${path}`, {
      method,
      headers: {
        ...{ 'x-user': user, 'x-roles': roles },
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
  };
}
