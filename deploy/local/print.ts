import { stringifyContent } from '@agentmesh/agent';
import { type Event, replicaKey } from '@agentmesh/protocol';

const said = new Set<string>();

/** Shows what a person wants to know of a service's log: warnings and errors, and which model answers. */
export function printLogLine(service: string, line: string): void {
  try {
    const { level, msg, reason, err, model } = JSON.parse(line);
    const why = reason ?? err?.message;
    if (level === 'warn' || level === 'error' || level === 'fatal') {
      console.log(`  ${level} ${service}: ${msg}${why ? `: ${why}` : ''}`);
    } else if (model !== undefined && !said.has(msg)) {
      // Each agent says it; once is enough to know.
      said.add(msg);
      console.log(`  ${msg}`);
    }
  } catch {
    console.log(`  ${service}: ${line}`);
  }
}

/** One line per event: who said or did what, in which process. */
export function describeEvent(event: Event): string {
  const replica = event.customMetadata?.[replicaKey];
  const where = typeof replica === 'string' ? replica : '';
  const pid = /-(\d+)-[^-]+$/.exec(where)?.[1] ?? '?';
  const what = (event.content?.parts ?? []).map((part) => {
    if (part.functionCall)
      return `calls ${part.functionCall.name}(${JSON.stringify(part.functionCall.args)})`;
    if (part.functionResponse) return `gets ${JSON.stringify(part.functionResponse.response)}`;
    return '';
  });
  const text = stringifyContent(event);
  const told = [...what.filter(Boolean), ...(text ? [`“${text}”`] : [])].join(', ');
  const hint = event.actions.transferToAgent ? ` → transfer to ${event.actions.transferToAgent}` : '';
  const problem = event.errorCode ? `failed: ${event.errorMessage}` : '';
  return `${event.partial ? '… ' : ''}${event.author} [pid ${pid}] ${told}${problem}${hint}`;
}
