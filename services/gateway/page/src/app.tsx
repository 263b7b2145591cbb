import { useState } from 'preact/hooks';
import { get, keepKey, type MeshMap, readKey } from './api.ts';
import { ChatView } from './chat-view.tsx';
import { DeadLettersView } from './dead-letters-view.tsx';
import { hrefOf, type Polled, type Route, usePolled, useRoute } from './hooks.ts';
import { MapView } from './map-view.tsx';
import { Failure } from './parts.tsx';
import { PendingView } from './pending-view.tsx';
import { RunsView } from './runs-view.tsx';
import { SessionView } from './session-view.tsx';
import { SignIn } from './sign-in.tsx';
import { UsersView } from './users-view.tsx';
import { WaterfallView } from './waterfall-view.tsx';

const views = [
  ['', 'Map'],
  ['runs', 'Runs'],
  ['pending', 'Waiting'],
  ['dead-letters', 'Dead letters'],
  ['users', 'Users'],
  ['chat', 'Chat'],
] as const;

/** The whole page: the way between the views, and one of them. */
export function App() {
  const route = useRoute();
  const [key, setKey] = useState(readKey);
  const map = usePolled<MeshMap>(`map ${key}`, () => get('/mesh'));
  const enter = (entered: string) => {
    keepKey(entered);
    setKey(entered);
  };
  if (map.error?.status === 401) return <SignIn isRefused={key !== ''} onKey={enter} />;
  const [view = ''] = route.parts;
  return (
    <>
      <a class="skip" href="#main">
        Skip to the content
      </a>
      <header class="top">
        <strong class="brand">agentmesh</strong>
        <nav aria-label="Views">
          {views.map(([name, title]) => (
            <a
              key={name}
              href={hrefOf(name === '' ? [] : [name])}
              aria-current={isIn(view, name) ? 'page' : undefined}
            >
              {title}
              {name === 'dead-letters' && (map.value?.deadLetters ?? 0) > 0 && (
                <span class="count">{map.value?.deadLetters}</span>
              )}
            </a>
          ))}
        </nav>
        <span class="spacer" />
        <a href="/docs">API</a>
        {key !== '' && (
          <button type="button" class="quiet" onClick={() => enter('')}>
            Forget the key
          </button>
        )}
      </header>
      <main id="main" tabIndex={-1}>
        <Failure error={map.error} />
        <View route={route} map={map} />
      </main>
    </>
  );
}

function isIn(view: string, name: string): boolean {
  return view === name || (name === 'runs' && view === 'sessions');
}

function View({ route: { parts, query }, map }: { route: Route; map: Polled<MeshMap> }) {
  const [view, ...rest] = parts;
  const [first, second, third] = rest;
  const apps = (map.value?.agents ?? []).flatMap(({ app }) => app ?? []);
  switch (view) {
    case undefined:
      return <MapView map={map.value} />;
    case 'runs':
      return first === undefined ? (
        <RunsView apps={apps} query={query} />
      ) : (
        <WaterfallView key={first} id={first} query={query} />
      );
    case 'sessions':
      if (first !== undefined && second !== undefined && third !== undefined)
        return <SessionView key={rest.join('/')} app={first} user={second} session={third} />;
      break;
    case 'pending':
      return <PendingView />;
    case 'dead-letters':
      return <DeadLettersView />;
    case 'users':
      return <UsersView apps={apps} query={query} />;
    case 'chat':
      return <ChatView apps={apps} query={query} />;
  }
  return <p class="empty">There is no such view. Choose one above.</p>;
}
