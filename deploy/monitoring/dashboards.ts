import { VizLegendOptionsBuilder } from '@grafana/grafana-foundation-sdk/common';
import {
  DashboardBuilder,
  DatasourceVariableBuilder,
  QueryVariableBuilder,
  RowBuilder,
  VariableRefresh,
} from '@grafana/grafana-foundation-sdk/dashboard';
import { DataqueryBuilder } from '@grafana/grafana-foundation-sdk/prometheus';
import { PanelBuilder as StatBuilder } from '@grafana/grafana-foundation-sdk/stat';
import { PanelBuilder as TimeSeriesBuilder } from '@grafana/grafana-foundation-sdk/timeseries';

/** A line of a panel: an expression of PromQL, and the name of its series in the legend. */
type Line = [expression: string, legend: string];

const datasource = { type: 'prometheus', uid: '${datasource}' };
/** The selection of the mesh that the reader of the dashboard chose. */
const mesh = 'namespace=~"$namespace"';
const span = '[$__rate_interval]';

const queries = (lines: readonly Line[]) =>
  lines.map(([expression, legend], at) =>
    new DataqueryBuilder()
      .expr(expression)
      .legendFormat(legend)
      .refId(String.fromCharCode(65 + at))
      .datasource(datasource),
  );

const chart = (title: string, unit: string, ...lines: Line[]) =>
  new TimeSeriesBuilder()
    .title(title)
    .unit(unit)
    .min(0)
    .height(8)
    .span(8)
    .legend(new VizLegendOptionsBuilder().showLegend(true))
    .datasource(datasource)
    .targets(queries(lines));

const figure = (title: string, unit: string, line: Line) =>
  new StatBuilder()
    .title(title)
    .unit(unit)
    .height(4)
    .span(4)
    .datasource(datasource)
    .targets(queries([line]));

/** Returns the share of a histogram's values at or below which `quantile` of them lie. */
const quantile = (share: number, histogram: string, by: string, where: string) =>
  `histogram_quantile(${share}, sum by (${by}, le) (rate(${histogram}_bucket{${where}}${span})))`;

function dashboard(uid: string, title: string): DashboardBuilder {
  return new DashboardBuilder(title)
    .uid(uid)
    .tags(['agentmesh'])
    .time({ from: 'now-1h', to: 'now' })
    .refresh('30s')
    .withVariable(new DatasourceVariableBuilder('datasource').label('Prometheus').type('prometheus'))
    .withVariable(
      new QueryVariableBuilder('namespace')
        .label('Namespace')
        .datasource(datasource)
        .query('label_values(agentmesh_dead_letters, namespace)')
        .refresh(VariableRefresh.OnTimeRangeChanged)
        .includeAll(true)
        // A mesh outside of Kubernetes has no such label.
        .allValue('.*'),
    );
}

const ended = `agentmesh_work_duration_count{${mesh}}`;
const http = 'http_server_request_duration';

/** The dashboard of users' work: runs, queues, requests, models. */
const meshDashboard = dashboard('agentmesh-mesh', 'agentmesh: the mesh')
  .withRow(new RowBuilder('Now'))
  .withPanel(
    figure('Runs per second', 'reqps', [
      `sum(rate(agentmesh_work_duration_count{${mesh}, kind="run"}${span}))`,
      'runs',
    ]),
  )
  .withPanel(
    figure('Failed runs', 'percentunit', [
      `sum(rate(agentmesh_work_duration_count{${mesh}, kind="run", outcome="failed"}${span})) / sum(rate(agentmesh_work_duration_count{${mesh}, kind="run", outcome=~"completed|failed"}${span}))`,
      'failed',
    ]),
  )
  .withPanel(
    figure('Waiting messages', 'short', [
      `sum(max by (kind, name) (agentmesh_queue_messages{${mesh}, state="waiting"}))`,
      'waiting',
    ]),
  )
  .withPanel(figure('Oldest message', 's', [`max(agentmesh_queue_oldest_age{${mesh}})`, 'age']))
  .withPanel(figure('Dead letters', 'short', [`max(agentmesh_dead_letters{${mesh}})`, 'letters']))
  .withPanel(
    figure('Replicas', 'short', [
      'count(target_info{service_name!="", namespace=~"$namespace"})',
      'replicas',
    ]),
  )
  .withRow(new RowBuilder('Work'))
  .withPanel(
    chart('Ended work', 'reqps', [
      `sum by (kind, name, outcome) (rate(${ended}${span}))`,
      '{{kind}} {{name}} {{outcome}}',
    ]),
  )
  .withPanel(
    chart(
      'Time of runs',
      's',
      [quantile(0.5, 'agentmesh_work_duration', 'name', `${mesh}, kind="run"`), 'p50 {{name}}'],
      [quantile(0.95, 'agentmesh_work_duration', 'name', `${mesh}, kind="run"`), 'p95 {{name}}'],
    ),
  )
  .withPanel(
    chart('Time of calls and asks', 's', [
      quantile(0.95, 'agentmesh_work_duration', 'kind, name', `${mesh}, kind=~"call|ask"`),
      'p95 {{kind}} {{name}}',
    ]),
  )
  .withPanel(
    chart('Errors by code', 'reqps', [
      `sum by (kind, name, code) (rate(agentmesh_work_duration_count{${mesh}, outcome="failed"}${span}))`,
      '{{kind}} {{name}} {{code}}',
    ]),
  )
  .withPanel(
    chart('Errors of tools, models and callbacks', 'reqps', [
      `sum by (what, name) (rate(agentmesh_failures_total{${mesh}}${span}))`,
      '{{what}} {{name}}',
    ]),
  )
  .withPanel(
    chart('Takeovers', 'short', [
      `sum by (kind, name) (agentmesh_work_takeovers_total{${mesh}})`,
      '{{kind}} {{name}}',
    ]),
  )
  .withRow(new RowBuilder('Queues'))
  .withPanel(
    chart('Waiting', 'short', [
      `max by (kind, name) (agentmesh_queue_messages{${mesh}, state="waiting"})`,
      '{{kind}} {{name}}',
    ]),
  )
  .withPanel(
    chart('At work', 'short', [
      `max by (kind, name) (agentmesh_queue_messages{${mesh}, state="working"})`,
      '{{kind}} {{name}}',
    ]),
  )
  .withPanel(
    chart('Age of the oldest message', 's', [
      `max by (kind, name) (agentmesh_queue_oldest_age{${mesh}})`,
      '{{kind}} {{name}}',
    ]),
  )
  .withRow(new RowBuilder('Gateways and models'))
  .withPanel(
    chart('Requests by status', 'reqps', [
      `sum by (http_response_status_code) (rate(${http}_count{${mesh}}${span}))`,
      '{{http_response_status_code}}',
    ]),
  )
  .withPanel(
    chart('Time of requests', 's', [
      quantile(0.95, http, 'http_request_method, http_route', mesh),
      'p95 {{http_request_method}} {{http_route}}',
    ]),
  )
  .withPanel(
    chart('Open streams', 'short', [`sum by (instance) (agentmesh_sse_streams{${mesh}})`, '{{instance}}']),
  )
  .withPanel(
    chart('Tokens per second', 'short', [
      `sum by (agent, model, type) (rate(agentmesh_model_tokens_total{${mesh}}${span}))`,
      '{{agent}} {{model}} {{type}}',
    ]),
  )
  .withPanel(
    chart('Time of model calls', 's', [
      quantile(0.95, 'agentmesh_model_duration', 'agent, model', mesh),
      'p95 {{agent}} {{model}}',
    ]),
  )
  .withPanel(
    chart('Time of tools', 's', [
      quantile(0.95, 'agentmesh_tool_duration', 'agent, name', mesh),
      'p95 {{name}} of {{agent}}',
    ]),
  )
  .withPanel(
    chart('Cost per hour', 'short', [
      `sum by (agent, model) (3600 * rate(agentmesh_model_cost_total{${mesh}}${span}))`,
      '{{agent}} {{model}}',
    ]),
  );

/** The dashboard of the resources of each process. */
const processDashboard = dashboard('agentmesh-processes', 'agentmesh: processes')
  .withPanel(
    chart('Delay of the event loop, p99', 's', [`nodejs_eventloop_delay_p99{${mesh}}`, '{{instance}}']),
  )
  .withPanel(chart('Memory', 'bytes', [`process_memory_usage{${mesh}}`, '{{instance}}']))
  .withPanel(
    chart('CPU', 'short', [
      `sum by (instance) (rate(process_cpu_time_total{${mesh}}${span}))`,
      '{{instance}}',
    ]),
  )
  .withPanel(
    chart('Work in hand', 'short', [
      `sum by (instance, kind, name) (agentmesh_work_active{${mesh}})`,
      '{{instance}} {{kind}} {{name}}',
    ]),
  )
  .withPanel(
    chart('Calls of models', 'reqps', [
      `sum by (agent, model) (rate(agentmesh_model_calls_total{${mesh}}${span}))`,
      '{{agent}} {{model}}',
    ]),
  )
  .withPanel(
    chart('Replicas', 'short', [`count by (service_name) (target_info{${mesh}})`, '{{service_name}}']),
  );

/** The dashboards for Grafana, by the names of their files. */
export const dashboards = {
  'mesh.json': meshDashboard.build(),
  'processes.json': processDashboard.build(),
};
