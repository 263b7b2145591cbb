import { type InvocationRecord, type RunEnd, runOfName, type SessionWork } from '@agentmesh/agent/internal';
import { decodeToken } from '@agentmesh/protocol';

const endPrefix = 'end:';

/** Returns the record from the flat list of its hash. */
export function recordOf(fields: string[]): InvocationRecord {
  const values = new Map<string, string>();
  for (let at = 0; at + 1 < fields.length; at += 2) values.set(fields[at] ?? '', fields[at + 1] ?? '');
  const temp = [...values].filter(([field]) => field.startsWith('temp:'));
  const run = values.get('run');
  const resume = run === undefined ? undefined : runOfName(run).resume;
  const ends = endsOf(values);
  return {
    ...(ends.get(resume ?? '') ?? { status: 'running' }),
    temp: Object.fromEntries(temp.map(([field, json]) => [field, JSON.parse(json)])),
    llmCalls: Number(values.get('calls') ?? 0),
    tokens: Number(values.get('tokens') ?? 0),
    ...(values.has('home') && { home: decodeToken(values.get('home') ?? '') }),
    ...(values.has('cancel') && { cancelled: values.get('cancel') ?? '' }),
    ...(resume !== undefined && { resume }),
    ...((resume !== undefined || [...ends.keys()].some((each) => each !== '')) && { ends }),
  };
}

/** Returns the services that work for an invocation, from the flat list of its hash. */
export function workOf(invocationId: string, fields: readonly string[]): SessionWork {
  const work = { parts: [] as string[], tools: new Set<string>() };
  let agent: string | undefined;
  for (let at = 0; at + 1 < fields.length; at += 2) {
    const [field = '', value = ''] = [fields[at], fields[at + 1]];
    if (field === 'agent') agent = value;
    else if (field.startsWith('part:') && value !== 'closed') work.parts.push(field.slice('part:'.length));
    else if (field.startsWith('call:')) work.tools.add(value);
  }
  return { invocationId, ...(agent !== undefined && { agent }), parts: work.parts, tools: [...work.tools] };
}

/** Returns how the runs of an invocation ended, by their `resume`; the first run has ''. */
function endsOf(values: ReadonlyMap<string, string>): Map<string, RunEnd> {
  const first = values.get('end');
  const later = [...values].flatMap(([field, json]): [string, RunEnd][] =>
    field.startsWith(endPrefix)
      ? [[runOfName(field.slice(endPrefix.length)).resume ?? '', JSON.parse(json)]]
      : [],
  );
  return new Map([...(first === undefined ? [] : [['', JSON.parse(first)] as [string, RunEnd]]), ...later]);
}
