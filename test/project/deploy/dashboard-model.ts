import type { AnnotationQuery, Dashboard, FieldConfig, Panel, RowPanel } from '@grafana/schema';
import type { Options as HeatmapOptions } from '@grafana/schema/dist/esm/raw/composable/heatmap/panelcfg/x/HeatmapPanelCfg_types.gen';
import type { Options as StatOptions } from '@grafana/schema/dist/esm/raw/composable/stat/panelcfg/x/StatPanelCfg_types.gen';
import type {
  FieldConfig as TimeSeriesField,
  Options as TimeSeriesOptions,
} from '@grafana/schema/dist/esm/raw/composable/timeseries/panelcfg/x/TimeSeriesPanelCfg_types.gen';

/** The type of a value after JSON serialisation, in which string enums become strings. */
type Json<T> = T extends string ? `${T}` : T extends object ? { [K in keyof T]: Json<T[K]> } : T;

interface PanelOf<Type extends string, Options, Custom> extends Omit<
  Panel,
  'type' | 'options' | 'targets' | 'fieldConfig'
> {
  type: Type;
  options: Options;
  targets: PrometheusQuery[];
  fieldConfig: { defaults: Omit<FieldConfig, 'custom'> & { custom?: Custom }; overrides: object[] };
}

/** A Prometheus query, which Grafana's dashboard schema does not define. */
interface PrometheusQuery {
  refId: string;
  datasource: { type: 'prometheus'; uid: string };
  expr: string;
  legendFormat: string;
  range: true;
  editorMode: 'code';
  format?: 'heatmap';
}

interface PrometheusAnnotation extends Omit<AnnotationQuery, 'target'> {
  expr: string;
  step: string;
  titleFormat: string;
  textFormat: string;
  useValueForTime?: 'on';
}

/** A dashboard for Grafana 10 or newer, with the panel types that Cloakroom uses. */
export type PrometheusDashboard = Json<
  Omit<Dashboard, 'panels' | 'annotations'> & {
    panels: (
      | (Omit<RowPanel, 'type'> & { type: 'row' })
      | PanelOf<'timeseries', TimeSeriesOptions, TimeSeriesField>
      | PanelOf<'stat', Partial<StatOptions>, never>
      | PanelOf<'heatmap', Partial<HeatmapOptions>, object>
    )[];
    annotations: { list: PrometheusAnnotation[] };
  }
>;
