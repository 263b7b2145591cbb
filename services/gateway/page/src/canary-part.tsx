import type { Canary } from './api.ts';
import { spanText } from './words.ts';

/** Returns a canary in words. */
export function canaryText({ version, percent, pinned, ending }: Canary): string {
  return `${version} gets ${percent} % of the sessions${pinned ? ', pinned' : ''}${ending ? ', ending' : ''}`;
}

/** The canary of an agent: its share, and what each version has done since it began. */
export function CanaryPart({ canary }: { canary: Canary }) {
  const { since, queued, versions } = canary;
  return (
    <section class="canary" aria-label="Canary">
      <h3>Canary</h3>
      <p>
        {canaryText(canary)}
        {since > 0 && ` · for ${spanText(Date.now() - since)}`} · {queued} in its queue
      </p>
      <div class="scroll">
        <table>
          <thead>
            <tr>
              {['version', 'replicas', 'runs', 'failed', 'p50', 'p95'].map((title) => (
                <th key={title} scope="col">
                  {title}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {versions.map(({ version, replicas, runs = '?', failed, p50Ms, p95Ms }) => (
              <tr key={version}>
                <th scope="row">{version}</th>
                <td class={replicas === 0 ? 'bad number' : 'number'}>{replicas}</td>
                <td class="number">{runs}</td>
                <td class={failed ? 'bad number' : 'number'}>{failed ?? '?'}</td>
                <td class="number">{p50Ms === undefined ? '' : spanText(p50Ms)}</td>
                <td class="number">{p95Ms === undefined ? '' : spanText(p95Ms)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <p class="hint">Asks of the agent are shared by chance, and count as runs here.</p>
    </section>
  );
}
