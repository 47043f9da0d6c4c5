// The types of a Grafana dashboard with the panels that dashboard.json uses, from the
// packages that Grafana publishes: @grafana/schema 13.2.3 and, for Prometheus, which must
// be named here because its types import the browser's, @grafana/prometheus 13.1.4.
//
// schema.json is generated from this file, without the descriptions:
//
//   npm install @grafana/schema@13.2.3 typescript@5.8 ts-json-schema-generator@2.3.0
//   npx ts-json-schema-generator --path dashboard.ts --type Dashboard --expose none --no-top-ref |
//     jq -c 'walk(if type == "object" and (.description | type) == "string" then del(.description) else . end)' > schema.json
import type * as raw from '@grafana/schema/dist/types/raw/dashboard/x/types.gen';
import type { DataQuery, DataSourceRef, GraphFieldConfig } from '@grafana/schema';
import type * as timeseries from '@grafana/schema/dist/types/raw/composable/timeseries/panelcfg/x/types.gen';
import type * as stat from '@grafana/schema/dist/types/raw/composable/stat/panelcfg/x/types.gen';

interface Prometheus extends DataQuery {
  editorMode?: 'builder' | 'code';
  exemplar?: boolean;
  expr: string;
  format?: 'time_series' | 'table' | 'heatmap';
  instant?: boolean;
  legendFormat?: string;
  range?: boolean;
}

type With<T, F> = Omit<T, keyof F> & F;

// The first threshold has no lower bound: null, which JSON has for -Infinity.
type Thresholds = { mode: raw.ThresholdsMode; steps: { value: number | null; color: string }[] };
type Field<Custom> = With<raw.FieldConfig, { custom?: Custom; thresholds?: Thresholds }>;
type Of<Type extends string, Options, Custom> = With<raw.Panel, {
  type: Type;
  options: Options;
  targets: Prometheus[];
  fieldConfig: { defaults: Field<Custom>; overrides: raw.FieldConfigSource['overrides'] };
}>;

export type Dashboard = With<raw.Dashboard, {
  templating: { list: With<raw.VariableModel, { datasource?: DataSourceRef | null }>[] };
  panels: (
    | Of<'timeseries', timeseries.Options, GraphFieldConfig>
    | Of<'stat', stat.Options, {}>
    | With<raw.RowPanel, { panels: [] }>
  )[];
}>;
