interface Address {
  method: string;
  url: string;
}

/**
 * Returns a function that tells which methods the routes have at a path, for the answer 405; none for a path
 * that no route has. A route for GET answers HEAD too.
 */
export function methodsAt(routes: readonly Address[]): (path: string) => string[] {
  const patterns = Map.groupBy(routes, ({ url }) => url);
  const known = [...patterns].map(([url, each]) => ({
    pattern: patternOf(url),
    methods: each.flatMap(({ method }) => (method === 'GET' ? ['GET', 'HEAD'] : method)),
  }));
  return (path) => {
    const methods = known.flatMap((each) => (each.pattern.test(path) ? each.methods : []));
    return [...new Set(methods)].sort();
  };
}

/** Returns the pattern of an address such as `/apps/:app/*`; a slash at the end does not count. */
function patternOf(url: string): RegExp {
  const parts = url.split('/').map((part) => {
    if (part.startsWith(':')) return '[^/]+';
    return part === '*' ? '.+' : part.replace(/[.\\+?^${}()|[\]]/g, '\\$&');
  });
  return new RegExp(`^${parts.join('/')}/?$`);
}
