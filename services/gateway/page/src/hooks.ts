import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { ApiError } from './api.ts';

/** The result of a request that is repeated. */
export interface Polled<T> {
  value?: T;
  /** The failure of the last request; the last value stays. */
  error?: ApiError;
  /** Asks again at once. */
  again(): void;
}

/** The interval between two requests of a view, in ms. */
const pollMs = 2_000;

/** The refusals after which the same request may pass: it took too long, or there were too many. */
const passing = [408, 429];

/** Tells whether the same request would be refused again. `mayCome`: what is not found may be there in a moment. */
function isRefused({ status }: ApiError, mayCome: boolean): boolean {
  if (status === 404 && mayCome) return false;
  return status >= 400 && status < 500 && !passing.includes(status);
}

/**
 * Asks again and again while the page is seen, never twice at once, and not again after a refusal. `key` names what is
 * asked for: another key drops the value.
 */
export function usePolled<T>(
  key: string,
  ask: () => Promise<T>,
  everyMs: number | undefined = pollMs,
  mayCome = false,
): Polled<T> {
  const [state, setState] = useState<{ key: string; value?: T; error?: ApiError }>({ key });
  const [turn, setTurn] = useState(0);
  const latest = useRef(ask);
  latest.current = ask;
  // A turn asks again.
  useEffect(() => {
    let isOver = false;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const askOnce = async () => {
      const result = await latest.current().then(
        (value) => ({ value }),
        (thrown: unknown) => ({
          error: thrown instanceof ApiError ? thrown : new ApiError(0, String(thrown)),
        }),
      );
      if (isOver) return;
      if ('value' in result) setState({ key, value: result.value });
      else {
        isOver = isRefused(result.error, mayCome);
        setState((old) => ({ ...(old.key === key ? old : { key }), error: result.error }));
      }
    };
    const poll = async () => {
      if (!document.hidden) await askOnce();
      if (!isOver && everyMs !== undefined) timer = setTimeout(() => void poll(), everyMs);
    };
    void poll();
    return () => {
      isOver = true;
      clearTimeout(timer);
    };
  }, [key, everyMs, turn, mayCome]);
  const again = useCallback(() => setTurn((old) => old + 1), []);
  const current = state.key === key ? state : { key };
  return { ...current, again };
}

/** The view that the address names: the parts of its path, and its query. */
export interface Route {
  parts: string[];
  query: URLSearchParams;
}

function readRoute(): Route {
  const [path = '', query = ''] = location.hash.replace(/^#\/?/, '').split('?');
  return {
    parts: path.split('/').filter(Boolean).map(decodeURIComponent),
    query: new URLSearchParams(query),
  };
}

/** Returns the address of a view. */
export function hrefOf(parts: readonly string[], query: Record<string, string | undefined> = {}): string {
  const given = Object.entries(query).flatMap(([name, value]) => (value ? [[name, value]] : []));
  const text = new URLSearchParams(given).toString();
  return `#/${parts.map(encodeURIComponent).join('/')}${text === '' ? '' : `?${text}`}`;
}

/** Returns the view of the address, and follows it. */
export function useRoute(): Route {
  const [route, setRoute] = useState(readRoute);
  useEffect(() => {
    const follow = () => setRoute(readRoute());
    addEventListener('hashchange', follow);
    return () => removeEventListener('hashchange', follow);
  }, []);
  return route;
}

/** Runs an act of a button: tells whether it goes on, and how it failed. */
export function useAct(): { isBusy: boolean; error: string; act(work: () => Promise<void>): void } {
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState('');
  const act = (work: () => Promise<void>) => {
    setBusy(true);
    setError('');
    work()
      .catch((thrown: unknown) => setError(thrown instanceof Error ? thrown.message : String(thrown)))
      .finally(() => setBusy(false));
  };
  return { isBusy, error, act };
}
